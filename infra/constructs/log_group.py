"""A CloudWatch log group with an end to its memory."""

from typing import Final

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

_RETENTION: Final = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


class LogGroup(logs.LogGroup):
    """Keeps lines for `retention_days` and goes with its stack, so that the same name can be deployed again."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, retention_days: int) -> None:
        super().__init__(
            scope,
            construct_id,
            log_group_name=name,
            retention=_RETENTION[retention_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
