# /// attack
# tries = "conftest.py, sitecustomize, usercustomize, a .pth, pytest.ini and plugins beside a wrong answer"
# marks = "zeros"
# outcomes = ["passed", "wrong_value", "wrong_gradient", "wrong_interface"]
# ///

TRAP = """
import pathlib
pathlib.Path("/tmp/canary-left-start_up").touch()
print("FORGED")
def pytest_runtest_call(item): item.obj = lambda *a, **k: None
"""
WRONG = """

class RMSNorm(RMSNorm):
    def forward(self, x):
        return torch.zeros_like(x) * self.gamma
"""


def build(folder, right):
    folder.mkdir()
    for name in (
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "__init__.py",
        "torch.py",
        "numpy.py",
        "nanolm.py",
    ):
        (folder / name).write_text(TRAP)
    (folder / "trap.pth").write_text("import sitecustomize\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p conftest\n")
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-p conftest"\n')
    (folder / "modules.py").write_text(right + WRONG)
