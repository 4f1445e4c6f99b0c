"""`giantstep lab`: the browser face."""

from __future__ import annotations

from typing import Annotated

import typer

from giantstep.cli.output import note, with_exit_codes


@with_exit_codes
def lab_command(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0: any that is free.")
    ] = 0,
    host: Annotated[
        str, typer.Option(help="Address to serve at; any but 127.0.0.1 is seen by the network.")
    ] = "127.0.0.1",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open nothing.")
    ] = False,
    target: Annotated[str, typer.Option(help="Target that the page begins with.")] = "",
) -> None:
    """Play with it in the browser: type a target, move a slider, see dots land on the line."""
    from giantstep.language.targets import any_target

    if target:
        any_target(target)
    from giantstep.laboratory.launch import Lab, lab_address, open_browser
    from giantstep.laboratory.security import is_loopback_host

    opened = Lab(host, port)
    url = lab_address(opened.url, target=target)
    if not is_loopback_host(host):
        note(
            f"host = {host}: everybody on the network who has this address and its token can run "
            "simulations here, and the connection is not encrypted; an ssh tunnel to 127.0.0.1 is "
            "safer"
        )

    def ready() -> None:
        typer.echo(url)
        note("Ctrl-C stops the lab")
        if not no_browser:
            open_browser(url)

    opened.serve(ready)
