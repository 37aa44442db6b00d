"""What is kept: tables, claim-check bucket, the key that encrypts both, the providers' secret, and the data role."""

from typing import Any

from aws_cdk import CfnOutput, Duration, Environment, RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.constructs.table import Table
from infra.policy import TENANT_TAG, tenant_policy
from infra.settings import Settings
from infra.stacks.statements import KEY_TO_READ, KEY_TO_WRITE, own_objects, own_secrets, through
from infra.tables import TABLES


class DataStack(Stack):
    """Everything in it outlives the stack unless the setting `removal` says destroy."""

    def __init__(self, scope: Construct, *, settings: Settings) -> None:
        super().__init__(
            scope,
            "Data",
            stack_name=f"{settings.prefix}-data",
            description=f"AgentKeep, stage {settings.stage}: tables, objects, keys",
            env=Environment(region=settings.region),
        )
        self._settings = settings
        self._removal = RemovalPolicy.RETAIN if settings.removal == "retain" else RemovalPolicy.DESTROY
        self.key = self._new_key()
        self.tables = {
            definition.name: Table(
                self, definition.name.capitalize(), definition=definition, key=self.key, settings=settings
            )
            for definition in TABLES
        }
        self.bucket = self._new_bucket()
        self.providers_secret = self._new_providers_secret()
        self.data_role = self._new_data_role()
        self._say_names()

    @property
    def variables(self) -> dict[str, str]:
        """The variables through which functions find what is kept here."""
        return {definition.environment: self.tables[definition.name].table_name for definition in TABLES} | {
            "AGENTKEEP_BUCKET": self.bucket.bucket_name,
            "AGENTKEEP_DATA_ROLE_ARN": self.data_role.role_arn,
            "AGENTKEEP_KMS_KEY_ID": self.key.key_arn,
        }

    def _new_key(self) -> kms.Key:
        return kms.Key(
            self,
            "Key",
            alias=f"alias/{self._settings.prefix}",
            description=f"AgentKeep, stage {self._settings.stage}: tables, objects and tenants' secrets",
            enable_key_rotation=True,
            removal_policy=self._removal,
        )

    def _new_bucket(self) -> s3.Bucket:
        """Versioned for as long as the tables can be restored: an item restored finds the object it points to."""
        return s3.Bucket(
            self,
            "Objects",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            bucket_key_enabled=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    noncurrent_version_expiration=Duration.days(self._settings.recovery_days),
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    expired_object_delete_marker=True,
                )
            ],
            removal_policy=self._removal,
        )

    def _new_providers_secret(self) -> secretsmanager.Secret:
        """Made empty, so that functions can read it from the start. The template never changes it afterwards."""
        return secretsmanager.Secret(
            self,
            "Providers",
            secret_name=self._settings.providers_secret,
            description="Model providers' keys and addresses: a JSON object by environment name (OPENAI_API_KEY ...)",
            secret_string_value=SecretValue.unsafe_plain_text("{}"),
            removal_policy=self._removal,
        )

    def _new_data_role(self) -> iam.Role:
        arns = [self.tables[definition.name].table_arn for definition in TABLES if definition.tenant]
        role = iam.Role(
            self,
            "TenantData",
            description="What a function may do for the tenant that it names in the session tag 'tenant'",
            path=self._settings.role_path,
            assumed_by=self._our_functions(),
        )
        role.add_to_policy(iam.PolicyStatement.from_json(tenant_policy(arns)))
        role.add_to_policy(own_objects(self.bucket))
        role.add_to_policy(own_secrets(self.key))
        role.add_to_policy(through(self.key, "dynamodb", *KEY_TO_READ, *KEY_TO_WRITE))
        role.add_to_policy(through(self.key, "s3", "kms:Decrypt", "kms:GenerateDataKey"))
        return role

    def _our_functions(self) -> iam.IPrincipal:
        """The roles of our functions, by IAM path: naming them would make this stack depend on theirs."""
        ours = f"arn:{self.partition}:iam::{self.account}:role{self._settings.role_path}functions/*"
        conditions: dict[str, Any] = {
            "ArnLike": {"aws:PrincipalArn": ours},
            "StringLike": {f"aws:RequestTag/{TENANT_TAG}": "?*"},
            "ForAllValues:StringEquals": {"aws:TagKeys": [TENANT_TAG]},
        }
        return iam.AccountRootPrincipal().with_session_tags().with_conditions(conditions)

    def _say_names(self) -> None:
        for definition in TABLES:
            CfnOutput(self, f"{definition.name.capitalize()}TableName", value=self.tables[definition.name].table_name)
        CfnOutput(self, "BucketName", value=self.bucket.bucket_name)
        CfnOutput(self, "ProvidersSecretName", value=self._settings.providers_secret)
