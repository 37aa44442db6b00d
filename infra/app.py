"""The CDK app. `python infra/app.py` writes the templates to cdk.out, without Docker and without credentials."""

import json
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # Python puts this folder first, where our `constructs` would hide the library of that name
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from aws_cdk import App, Tags
from pydantic import ValidationError

from infra.settings import Settings
from infra.stacks.api import ROOT, ApiStack
from infra.stacks.data import DataStack


def build(app: App) -> tuple[DataStack, ApiStack]:
    """The stacks of the stage that the app's context names."""
    settings = Settings.of(app.node.try_get_context)
    data = DataStack(app, settings=settings)
    api = ApiStack(app, data=data, settings=settings)
    Tags.of(app).add("application", "agentkeep")
    Tags.of(app).add("stage", settings.stage)
    return data, api


def new_app(outdir: str | None = None, **context: Any) -> App:
    """An app with the flags of cdk.json, which the CDK's own command line would otherwise be needed to read."""
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    return App(context={**flags, **context}, outdir=outdir)


def main() -> None:
    """Builds and writes the stacks. A setting that does not fit ends it with a sentence and exit code 1."""
    app = new_app(outdir=os.environ.get("CDK_OUTDIR", str(ROOT / "cdk.out")))
    try:
        build(app)
    except ValidationError as error:
        sys.exit(str(error))
    app.synth()


if __name__ == "__main__":
    main()
