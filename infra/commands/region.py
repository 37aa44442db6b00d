"""The AWS region that commands mean when none is given: the one that `npx aws-cdk deploy` would take."""

import os
from typing import Final

DEFAULT: Final = "us-east-1"
_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")


def deployment_region() -> str:
    """That of the environment or of the profile, else us-east-1, as `infra.settings` has it.

    Raises botocore's ProfileNotFound where AWS_PROFILE names none that exists.
    """
    from botocore.session import Session

    given = next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), None)
    found: str | None = given or Session().get_scoped_config().get("region")
    return found or DEFAULT
