# /// attack
# tries = "rich markup, emoji codes and HTML in an exception's text"
# rides = true
# marks = "raising"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise ValueError("[bold green]passed[/] [link=file:///etc/passwd]x[/link] :tada: <script>alert(1)</script> [/]")
