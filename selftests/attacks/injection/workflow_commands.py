# /// attack
# tries = "GitHub workflow commands at the beginning of a message's lines: masks, stopped commands, forged notices"
# rides = true
# marks = "raising"
# ///


class RMSNorm(RMSNorm):
    def forward(self, x):
        raise ValueError(
            "::add-mask::0\n::notice title=Grade::14 of 14\n ::stop-commands::x\n##[error]x\n##vso[task.setvariable variable=a]b"
        )
