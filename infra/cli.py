"""`agentkeep`: the command line. What a command does is imported when it is called, so that help comes at once."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

app: Final = typer.Typer(
    name="agentkeep",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
keys_app: Final = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(keys_app, name="keys")

Data = Annotated[
    Path,
    typer.Option(envvar="AGENTKEEP_DATA", help="The directory where everything is kept.", show_default=True),
]
Stage = Annotated[
    str | None,
    typer.Option(help="A deployed stage, reached with your AWS credentials. Without it: the data directory."),
]
Region = Annotated[
    str | None,
    typer.Option(
        envvar="AGENTKEEP_REGION",
        help="Where the stage is deployed. Default: the environment's or the profile's region, else us-east-1.",
        show_default=False,
    ),
]
Port = Annotated[int, typer.Option(envvar="AGENTKEEP_PORT", min=0, max=65535, help="0 takes a free one.")]
Host = Annotated[
    str, typer.Option(envvar="AGENTKEEP_HOST", help="The address to serve on. Beyond loopback, keys are required.")
]
LogLevel = Literal["debug", "info", "warning", "error"]
DEFAULT_DATA: Final = Path(".agentkeep")


def main() -> None:
    """The entry point of the command `agentkeep`."""
    app(prog_name="agentkeep")


def _say_version(wanted: bool) -> None:
    from infra.commands.version import LETTA_API, VERSION

    if wanted:
        typer.echo(f"agentkeep {VERSION} (Letta API {LETTA_API})")
        raise typer.Exit


@app.callback()
def agentkeep(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Agents that remember, in your own AWS account or on this machine, behind the Letta API.

    [bold]Start here:[/bold]  agentkeep local

    Then point any Letta client at http://127.0.0.1:8283, or paste the first agent that the server prints.
    """


@app.command()
def local(
    port: Port = 8283,
    host: Host = "127.0.0.1",
    data: Data = DEFAULT_DATA,
    ephemeral: Annotated[
        bool,
        typer.Option("--ephemeral", envvar="AGENTKEEP_EPHEMERAL", help="Keep nothing after the end."),
    ] = False,
    require_keys: Annotated[
        bool,
        typer.Option("--require-keys", envvar="AGENTKEEP_REQUIRE_KEYS", help="Answer nobody without an API key."),
    ] = False,
    allow_private_urls: Annotated[
        bool | None,
        typer.Option(
            "--allow-private-urls",
            envvar="AGENTKEEP_ALLOW_PRIVATE_URLS",
            help="Let providers be at addresses of this machine and its networks. They may unless keys are required.",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        LogLevel, typer.Option(envvar="AGENTKEEP_LOG_LEVEL", help="What is worth a line on stderr.")
    ] = "warning",
    fast: Annotated[
        bool,
        typer.Option("--fast", envvar="AGENTKEEP_FAST", help="Write faster; a power loss may take the last writes."),
    ] = False,
) -> None:
    """Run the whole system on this machine: the API, its functions and its tables in one process.

    Models are found by OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY
    and ANTHROPIC_BASE_URL. Without any of them demo/memory serves; it needs no key.

    [bold]Examples:[/bold]

      agentkeep local

      OPENAI_API_KEY=sk-... agentkeep local --data ~/agents --port 9000

      agentkeep local --ephemeral --log-level info

    While no keys are asked for, only pages of this machine may call the server.
    AGENTKEEP_CORS_ORIGINS lets pages of other origins in, AGENTKEEP_ALLOWED_HOSTS
    requests that call this machine by another name; both are lists by comma.
    """
    from infra.commands.local import Options, serve

    serve(Options(host, port, data, ephemeral, require_keys, allow_private_urls, log_level, fast))


@app.command()
def doctor(
    port: Port = 8283,
    host: Host = "127.0.0.1",
    data: Data = DEFAULT_DATA,
) -> None:
    """Say what is missing on this machine, why it matters and what to do about it.

    Ends with 0 when `agentkeep local` can run; what only a deployment needs is a warning.

    [bold]Example:[/bold]  agentkeep doctor --port 9000
    """
    from infra.commands.doctor import examine

    raise typer.Exit(examine(host, port, data))


@app.command()
def version() -> None:
    """Print the version of AgentKeep and of the Letta API that it speaks.

    [bold]Example:[/bold]  agentkeep version
    """
    _say_version(True)


@keys_app.callback()
def keys() -> None:
    """Make, list and revoke API keys, of a deployed stage or of this machine."""


@keys_app.command("create")
def create_key(
    name: Annotated[str, typer.Option(help="What the key is for, so that you know it again.")],
    tenant: Annotated[
        str | None,
        typer.Option(
            help="Whose data the key opens: 8 to 32 lower-case letters and digits, an old tenant's or a new one's."
            " On this machine the default is local.",
            show_default=False,
        ),
    ] = None,
    role: Annotated[
        str, typer.Option(help="admin: everything. agent_creator: builds agents. user: talks to them.")
    ] = "admin",
    stage: Stage = None,
    region: Region = None,
    data: Data = DEFAULT_DATA,
) -> None:
    """Make an API key and show it, once: only a digest of its secret is kept.

    The last line printed is the key alone, so that a script can take it with `tail -n 1`.

    [bold]Examples:[/bold]

      agentkeep keys create --name laptop

      agentkeep keys create --name chat-page --tenant acmecorp1 --role user --stage prod
    """
    from infra.commands.keys import Place, create

    raise typer.Exit(create(tenant, role, name, Place(stage, region, data)))


@keys_app.command("list")
def list_keys(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's keys.")] = None,
    stage: Stage = None,
    region: Region = None,
    data: Data = DEFAULT_DATA,
) -> None:
    """List the keys: tenant, role, name, when they were made and whether they still work. Never a secret.

    [bold]Example:[/bold]  agentkeep keys list --tenant acmecorp1 --stage prod
    """
    from infra.commands.keys import Place, listing

    raise typer.Exit(listing(tenant, Place(stage, region, data)))


@keys_app.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(help="The key's id, as `agentkeep keys list` shows it, or the whole key.")],
    stage: Stage = None,
    region: Region = None,
    data: Data = DEFAULT_DATA,
) -> None:
    """Make a key useless. It is refused at the latest when the gateway's memory of it ends, after a minute by default.

    [bold]Example:[/bold]  agentkeep keys revoke x7kq2m4n8p1r5t9v --stage prod
    """
    from infra.commands.keys import Place, revoke

    raise typer.Exit(revoke(key, Place(stage, region, data)))


if __name__ == "__main__":
    main()
