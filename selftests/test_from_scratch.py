"""The from-scratch rule: operators under every alias, ways round, and honest code that only looks like either."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from nanolm.course import EXERCISES
from nanolm.from_scratch import (
    FORBIDDEN_BUILTINS,
    FORBIDDEN_MODULES,
    FRAME_ATTRIBUTES,
    NORM_OPERATORS,
    check_source,
)

ROOT = Path(__file__).resolve().parents[1]


def rules(text: str, exercise: str = "rmsnorm") -> list[str]:
    return [finding.rule for finding in check_source(text, exercise)]


# ── Operators that are the answer ────────────────────────────────────────────────────────────────────────────────────

ANSWERS = {
    "functional as F": "import torch.nn.functional as F\ny = F.rms_norm(x, (4,))",
    "only named": "import torch.nn.functional as F\nnorm = F.rms_norm",
    "whole path": "import torch.nn.functional\ny = torch.nn.functional.rms_norm(x, (4,))",
    "whole path from torch": "import torch\ny = torch.nn.functional.rms_norm(x, (4,))",
    "torch itself": "import torch\ny = torch.rms_norm(x, (4,))",
    "torch renamed": "import torch as t\ny = t.rms_norm(x, (4,))",
    "nn": "from torch import nn\nself.n = nn.RMSNorm(4)",
    "nn renamed": "from torch import nn as N\nself.n = N.RMSNorm(4)",
    "the module's own file": "import torch\ny = torch.nn.modules.normalization.RMSNorm(4)",
    "that file imported": "from torch.nn.modules import normalization as m\ny = m.LayerNorm(4)",
    "function imported": "from torch.nn.functional import rms_norm",
    "function renamed": "from torch.nn.functional import rms_norm as rn\ny = rn(x, (4,))",
    "class imported": "from torch.nn import LayerNorm",
    "functional from nn": "from torch.nn import functional as G\ny = G.layer_norm(x, (4,))",
    "assigned": "import torch.nn.functional as F\nnorm = F.layer_norm\ny = norm(x, (4,))",
    "chain of assignments": "import torch\nnn = torch.nn\nF = nn.functional\nG = F\ny = G.rms_norm(x, (4,))",
    "assigned below its use": "def f(x):\n    return G.rms_norm(x, (4,))\nimport torch\nG = torch.nn.functional",
    "annotated assignment": "import torch\nF: object = torch.nn.functional\ny = F.rms_norm(x, (4,))",
    "walrus": "import torch\nif (G := torch.nn.functional):\n    y = G.rms_norm(x, (4,))",
    "walrus in place": "import torch\ny = (G := torch.nn.functional).rms_norm(x, (4,))",
    "tuple": "import torch\nnn, F = torch.nn, torch.nn.functional\ny = nn.RMSNorm(4)",
    "getattr": 'import torch.nn.functional as F\ny = getattr(F, "layer_norm")(x, (4,))',
    "getattr with a default": 'import torch.nn.functional as F\ny = getattr(F, "layer_norm", None)',
    "getattr of a sum": 'import torch.nn.functional as F\ny = getattr(F, "rms" + "_" + "norm")',
    "getattr of a variable": 'import torch.nn.functional as F\nname = "rms_norm"\ny = getattr(F, name)',
    "getattr in getattr": 'import torch\ny = getattr(getattr(torch, "nn"), "RMSNorm")',
    "__getattribute__": 'import torch.nn.functional as F\ny = object.__getattribute__(F, "rms_norm")',
    "vars": 'import torch.nn.functional as F\ny = vars(F)["rms_norm"]',
    "__dict__": 'import torch.nn.functional as F\ny = F.__dict__["rms_norm"]',
    "star": "from torch.nn.functional import *\ny = rms_norm(x, (4,))",
    "star of nn": "from torch.nn import *\nclass A(RMSNorm): pass",
    "star of torch": "from torch import *\ny = nn.functional.rms_norm(x, (4,))",
    "subclass": "from torch import nn\nclass RMSNorm(nn.RMSNorm): pass",
    "subclass, whole path": "import torch\nclass RMSNorm(torch.nn.RMSNorm): pass",
    "subclass of another name": "import torch.nn as nn\nBase = nn.RMSNorm\nclass RMSNorm(Base): pass",
    "attribute of self": "import torch\nself.lib = torch.nn.functional\ny = self.lib.rms_norm(x, (4,))",
    "class attribute": "import torch\nclass A:\n    G = torch.nn.functional\n    def f(self): return self.G.rms_norm",
    "default argument": "import torch\ndef f(x, G=torch.nn.functional): return G.rms_norm(x, (4,))",
    "argument": "import torch.nn.functional as F\ndef f(G, x): return G.rms_norm(x, (4,))\nf(F, x)",
    "argument, a class": "from torch import nn\nclass RMSNorm: pass\ndef f(N): return N.RMSNorm(4)\nf(nn)",
    "argument, getattr": 'import torch\ndef f(G): return getattr(G, "rms_norm")\nf(torch)',
    "result of a function": "import torch\ndef lib(): return torch.nn.functional\ny = lib().rms_norm(x, (4,))",
    "in a list": "import torch\ny = [torch.nn.functional][0].rms_norm(x, (4,))",
    "loop": "import torch\nfor G in (torch.nn.functional,): y = G.rms_norm(x, (4,))",
    "sys.modules": 'import sys\ny = sys.modules["torch.nn.functional"].rms_norm(x, (4,))',
    "globals": 'import torch.nn.functional as F\ny = globals()["F"].rms_norm(x, (4,))',
    "attrgetter": 'import operator, torch\ny = operator.attrgetter("nn.functional.rms_norm")(torch)',
    "attrgetter imported": 'from operator import attrgetter as a\ny = a("rms_norm")(F)',
    "methodcaller": 'from operator import methodcaller\ny = methodcaller("rms_norm", x, (4,))(F)',
    "resolve_name": 'import pkgutil\ny = pkgutil.resolve_name("torch.nn.functional:rms_norm")',
    "partial": "import functools, torch\nnorm = functools.partial(torch.rms_norm, normalized_shape=(4,))",
    "lambda": "import torch\nnorm = lambda x: torch.rms_norm(x, (4,))",
    "match": "import torch\nmatch f:\n    case torch.rms_norm: pass",
    "annotation": "from torch import nn\ndef f(norm: nn.LayerNorm): pass",
    "other letters": "import torch.nn.functional as F\ny = F.ｒms_norm(x, (4,))",
    "imported by another module": "import einops.layers.torch as e\ny = e.torch.rms_norm(x, (4,))",
    "class over a star's": "from torch.nn import *\nclass RMSNorm(RMSNorm): pass",
    "star before another": "from torch.nn.functional import *\nfrom math import *\ny = rms_norm(x, (4,))",
    "star that an if does not hide": "from torch.nn.functional import *\nif 0:\n    def rms_norm(x): pass\nrms_norm(x)",
    "same name elsewhere": "import torch.nn.functional as F\ndef f():\n    import math as F\ny = F.rms_norm(x, (4,))",
    "same argument elsewhere": "import torch.nn.functional as F\ndef f(F): pass\ny = F.rms_norm(x, (4,))",
    "same string elsewhere": (
        'import torch.nn.functional as F\nn = "rms_norm"\ny = getattr(F, n)\ndef f():\n    n = "silu"'
    ),
    "global": "import torch.nn.functional as G\ndef f():\n    global F\n    F = G\ny = F.rms_norm(x, (4,))",
    "pattern": "import torch.nn.functional as F\nmatch F:\n    case object(rms_norm=op): pass",
    "argument beside an attribute of that name": (
        "import torch.nn.functional as F\nclass A:\n    rms_norm = None\ndef f(m): return m.rms_norm\nf(F)"
    ),
    "argument of a lambda": "import torch.nn.functional as F\nb = dict(rms_norm=0)\ny = (lambda m: m.rms_norm)(F)",
    "keyword argument": "import torch.nn.functional as F\ndef f(*, m): return m.rms_norm\nf(m=F)",
    "name as a default": 'import torch.nn.functional as F\ndef f(x, n="rms_norm"): return getattr(F, n)(x, (4,))',
    "get of vars": 'import torch.nn.functional as F\ny = vars(F).get("rms_norm")',
    "get of __dict__": 'import torch\ny = torch.nn.functional.__dict__.get("rms_norm")',
    "vars kept": 'import torch.nn.functional as F\nd = vars(F)\ny = d["rms_norm"]',
    "dict of vars": 'import torch.nn.functional as F\ny = dict(vars(F))["rms_norm"]',
    "__getattribute__, bound": 'import torch.nn.functional as F\ny = F.__getattribute__("rms_norm")',
    "getattr renamed": 'import torch.nn.functional as F\ng = getattr\ny = g(F, "rms_norm")',
    "sys.modules.get": 'import sys\ny = sys.modules.get("torch.nn.functional").rms_norm',
    "conditional name": 'import operator\nn = "rms_norm" if x else ""\ny = operator.attrgetter(n)(F)',
    "conditional module": "import torch\nF = torch.nn.functional if x else None\ny = F.rms_norm(x, (4,))",
    "or": "import torch\ny = (None or torch.nn.functional).rms_norm(x, (4,))",
    "in an unreachable line": "import torch.nn.functional as F\nif False:\n    F.rms_norm",
}


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is_found_under_every_alias(text: str) -> None:
    assert "answer" in rules(text)
    assert "answer" in rules(text, "qk_norm")


@pytest.mark.parametrize("operator", NORM_OPERATORS)
@pytest.mark.parametrize("holder", ["torch", "torch.nn", "torch.nn.functional", "torch.nn.modules.normalization"])
def test_every_operator_is_found_in_every_place_that_could_hold_it(operator: str, holder: str) -> None:
    for text in (
        f"import {holder} as lib\nlib.{operator}",
        f"from {holder} import {operator}",
        f'import {holder} as lib\ngetattr(lib, "{operator}")',
    ):
        assert "answer" in rules(text)


def test_a_finding_says_the_line_and_the_name_as_it_was_written() -> None:
    text = '"""F.rms_norm"""\nimport torch.nn.functional as G\n\n\ny = G.rms_norm(x, (4,))\nz = G.layer_norm\n'
    first, second = check_source(text, "rmsnorm")
    assert (first.line, first.name, first.rule) == (5, "G.rms_norm", "answer")
    assert (second.line, second.name) == (6, "G.layer_norm")


def test_norms_are_no_answer_to_another_exercise_but_ways_round_are_forbidden_everywhere() -> None:
    assert rules("import torch.nn.functional as F\nF.layer_norm", "swiglu") == []
    for exercise in EXERCISES:
        assert rules('eval("1")', exercise) == ["way-round"]


# ── Ways round the rule ──────────────────────────────────────────────────────────────────────────────────────────────

WAYS_ROUND = {
    "exec": 'exec("y = 1")',
    "eval": 'y = eval("1")',
    "eval, other name": "e = eval\ne('1')",
    "eval under its own name": "eval = eval\neval('1')",
    "compile": 'code = compile("1", "", "eval")',
    "compile as a default": "def f(compile=compile): return compile('1', '', 'eval')",
    "a method does not hide eval": "class A:\n    def eval(self): return eval('1')",
    "an argument elsewhere does not hide eval": "def f(eval): pass\neval('1')",
    "an if does not hide eval": "if False:\n    eval = None\neval('1')",
    "global does not hide eval": "def f():\n    global eval\n    eval('1')",
    "__import__": '__import__("torch")',
    "builtins": "import builtins\nbuiltins.eval('1')",
    "builtins renamed": "import builtins as b\nb.exec('1')",
    "from builtins": "from builtins import eval as e\ne('1')",
    "getattr of builtins": "import builtins\ngetattr(builtins, 'eval')('1')",
    "__builtins__": "__builtins__.eval('1')",
    "__builtins__ as a dict": "__builtins__['ev' + 'al']('1')",
    "import importlib": "import importlib",
    "importlib renamed": "import importlib.util as u",
    "from importlib": "from importlib import import_module",
    "importlib that torch imported": "import torch\ntorch.importlib.import_module('torch.nn')",
    "gc": "import gc\ngc.get_objects()",
    "gc in a function": "def f():\n    import gc as g",
    "ctypes": "from ctypes import py_object",
    "inspect": "import inspect\ninspect.stack()",
    "f_back": "frame.f_back",
    "getattr of a frame": 'getattr(frame, "f_globals")',
    "traceback's frame": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame",
    "_getframe": "import sys\nsys._getframe(1)",
    "_getframe imported": "from sys import _getframe as g\ng()",
    "globals of a function of torch": 'nn.Linear.forward.__globals__["F"]',
    "torch.ops": "import torch\ntorch.ops.aten.rms_norm(x)",
    "from torch import ops": "from torch import ops",
    "from torch.ops": "from torch.ops import aten",
    "getattr torch.ops": 'import torch\ngetattr(torch, "ops").aten',
    "torch._C": "import torch\ntorch._C._nn.gelu(x)",
    "from torch import _C": "from torch import _C",
    "from torch._C": "from torch._C import _nn",
    "import torch._dynamo": "import torch._dynamo",
    "torch of a module of torch": "import torch.nn.functional as F\nF.torch._C",
    "torch.library": "import torch\ntorch.library.define('a::b', '() -> ()')",
    "from torch.library": "from torch.library import custom_op",
    "code": "import code\ncode.InteractiveInterpreter(globals()).runsource('1')",
    "from code": "from code import InteractiveConsole",
    "runpy": "import runpy\nrunpy.run_path('a')",
    "CompilationUnit": "import torch\ntorch.jit.CompilationUnit('')",
    "eval of sys.modules": "import sys\nsys.modules.get('builtins').eval('1')",
    "eval of sys.modules, kept": "import sys\nM = sys.modules['builtins']\nM.eval('1')",
    "store behind backends": "import torch\ntorch.backends.torch.relu = 1",
    "Module.__setattr__ on torch": "import torch\ntorch.nn.Module.__setattr__(torch, 'relu', f)",
    "__setitem__ of dict": "import torch\ndict.__setitem__(vars(torch), 'relu', f)",
    "setattr renamed": "import torch\ns = setattr\ns(torch, 'relu', f)",
    "store": "import torch.nn.functional as F\nF.silu = lambda x: x",
    "store in numpy": "import numpy as np\nnp.allclose = lambda *a, **k: True",
    "store in a class of torch": "from torch import Tensor\nTensor.__eq__ = lambda a, b: True",
    "store in a tuple": "import torch\ntorch.relu, y = 1, 2",
    "annotated store": "import torch\ntorch.relu: int = 1",
    "augmented store": "import torch\ntorch.pi += 1",
    "store by for": "import torch\nfor torch.relu in [1]: pass",
    "store by with": "import torch\nwith f() as torch.relu: pass",
    "del": "import torch\ndel torch.relu",
    "setattr": "import torch\nsetattr(torch, 'relu', f)",
    "setattr with any name": "import torch.nn.functional as F\nsetattr(F, name, f)",
    "delattr": "import numpy\ndelattr(numpy, 'mean')",
    "object.__setattr__": "import torch\nobject.__setattr__(torch, 'relu', f)",
    "__setattr__": "import torch\ntorch.__setattr__('relu', f)",
    "store in __dict__": "import torch\ntorch.__dict__['relu'] = f",
    "store in vars": "import torch\nvars(torch)['relu'] = f",
    "update of __dict__": "import torch\ntorch.__dict__.update(relu=f)",
    "update of vars": "import torch\nvars(torch).update(relu=f)",
}


@pytest.mark.parametrize("text", WAYS_ROUND.values(), ids=WAYS_ROUND)
def test_a_way_round_is_found(text: str) -> None:
    assert "way-round" in rules(text)
    assert "way-round" in rules(text, "swiglu")


def test_every_name_of_the_rule_is_found() -> None:
    for name in FORBIDDEN_BUILTINS:
        assert rules(f"{name}('1')") == ["way-round"]
    for name in FORBIDDEN_MODULES:
        assert "way-round" in rules(f"import {name}")
        assert "way-round" in rules(f"from {name} import something")
    for name in FRAME_ATTRIBUTES:
        assert rules(f"x.{name}") == ["way-round"]


# ── Honest code ──────────────────────────────────────────────────────────────────────────────────────────────────────

HONEST = {
    "docstring": '"""Not F.rms_norm, nor eval, exec, torch.ops or importlib."""',
    "comment": "# F.rms_norm(x) and torch.ops would be the answer\nx = 1",
    "string": 'message = "use nn.LayerNorm, eval or compile"\nprint("torch.rms_norm", "eval")',
    "string annotation": 'def f(norm: "nn.LayerNorm"): pass',
    "own function": "def layer_norm(x): return x - x.mean()\ny = layer_norm(x)",
    "own function rms_norm": "import torch.nn.functional as F\ndef rms_norm(x): return F.normalize(x)\ny = rms_norm(x)",
    "own class": "from torch import nn\nclass LayerNorm(nn.Module): pass\nclass RMSNorm(LayerNorm): pass",
    "own class RMSNorm used": "class RMSNorm: pass\nnorm = RMSNorm()",
    "own function under a star": "from torch.nn.functional import *\ndef rms_norm(x): return x\ny = rms_norm(silu(x))",
    "own method": "class A:\n    def rms_norm(self, x): return x\n    def forward(self, x): return self.rms_norm(x)",
    "own sub-module": "self.layer_norm = Mine()\ny = self.layer_norm(x)",
    "field": "class A:\n    layer_norm: object\ny = a.layer_norm(x)",
    "own argument": "def f(x, rms_norm): return rms_norm(x)",
    "own module": "from . import modules\ny = modules.RMSNorm(4)",
    "own module, whole path": "import exercises.modules\ny = exercises.modules.RMSNorm(4)",
    "from own module": "from .modules import RMSNorm\nfrom exercises.modules import RMSNorm as R\ny = R(4)",
    "self.eval": "self.eval()\nmodel.eval()\nmodel.exec = 1",
    "own method eval": "class A:\n    def eval(self): return self\n    def compile(self): return self.eval()",
    "re.compile": "import re\npattern = re.compile('a')",
    "torch.compile": "import torch\nf = torch.compile(f)\n@torch.compile\ndef g(x): return x",
    "compile from torch": "from torch import compile\nf = compile(f)",
    "own variable compile": "compile = True\nif compile:\n    pass",
    "own argument compile": "def f(x, compile=False):\n    if compile:\n        return lambda: compile",
    "own function eval": "def eval(x): return x\ny = eval(x)",
    "own function eval in a function": "def f(x):\n    def eval(y): return y\n    return [eval(z) for z in x]",
    "local variable compile": "def f():\n    for compile in range(3): print(compile)",
    "numpy": "import numpy as np\ny = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True)); np.linalg.norm(y)",
    "numpy arrays": "import numpy as np\ny = np.zeros(3)\ny[0] = 1\ny.flat[0] = 2\ny.shape = (3, 1)",
    "__class__": "x.__class__\nself.__dict__['a'] = 1\nvars(self)['b'] = 2\nsuper().__setattr__('a', 1)",
    "allowed operators": (
        "import torch, torch.nn.functional as F\nfrom torch import nn\n"
        "F.normalize(x); F.silu(x); F.softplus(x); nn.Linear(3, 4); torch.logsumexp(x, 0); torch.rsqrt(x); nn.SiLU()\n"
        "torch.linalg.vector_norm(x); torch.linalg.norm(x); nn.Parameter(x); torch.no_grad(); torch.autograd.Function"
    ),
    "attribute gc": "self.gc = nn.Linear(3, 4)\ny = self.gc(x)\nself.inspect = 1\nself.inspect.ops",
    "variables gc and inspect": "gc = w @ x\ninspect = gc * 2\nops = [gc]\nlibrary = ops[0].library",
    "operator": "import operator\nfirst = operator.attrgetter('gamma', 'eps')\noperator.mul(a, b)",
    "getattr": "import torch\ndtype = getattr(torch, 'float' + '32')\ngetattr(self, name)\ngetattr(torch, name)",
    "stores of one's own": (
        "import torch\nfrom torch import nn\nself.weight = nn.Parameter(torch.ones(3))\nself.dtype = torch.float32\n"
        "self.dtype = x.dtype\nself.weight.data = torch.zeros(3)\nx.grad = None\nsetattr(self, 'a', torch.ones)\n"
        "d = {}\nd.update(a=torch.float32)\nd.pop(torch.float32, None)\nd[torch.float32] = 1\ndel d[torch.float32]"
    ),
    "version": "import torch\nprint(torch.__version__, torch.__name__)",
    "initialisation by torch's own helper": (
        "from torch import nn\nfan, _ = nn.init._calculate_fan_in_and_fan_out(w)\nnn.init.kaiming_uniform_(w)"
    ),
    "private names of one's own": "self._C = 1\ny = self._C + self._ops\nclass _Base: pass",
    "sys": "import sys\nprint(sys.version, sys.float_info.eps, file=sys.stderr)",
    "switches of backends": (
        "import torch\nfrom torch.backends import cudnn\ntorch.backends.cudnn.deterministic = True\n"
        "torch.backends.cuda.matmul.allow_tf32 = True\ncudnn.benchmark = False"
    ),
    "__setattr__ of Module": "from torch import nn\nnn.Module.__setattr__(self, 'eps', eps)",
    "own __setattr__": (
        "from torch import nn\nclass A(nn.Module):\n"
        "    def __setattr__(self, k, v): nn.Module.__setattr__(self, k, v)\n"
        "    def __delattr__(self, *a): nn.Module.__delattr__(self, *a)\n"
    ),
    "add_module": "self.add_module('rms_norm', RMSNorm(4))\ny = self.rms_norm(x)",
    "setattr of one's own": "setattr(self, 'rms_norm', lambda h: h)\ny = self.rms_norm(x)",
    "namedtuple": "from collections import namedtuple\nC = namedtuple('C', 'd rms_norm')\ny = cfg.rms_norm",
    "getattr of this module": "import sys\ndef f(d): return getattr(sys.modules[__name__], 'RMSNorm')(d)",
    "attribute of an argument": "import torch\nfrom torch import nn\ndef attach(block): return block.layer_norm",
    "ModuleDict": "from torch import nn\nself.n = nn.ModuleDict({'rms_norm': RMSNorm(4)})\ny = self.n['rms_norm'](x)",
    "item": "y = config['rms_norm']\nz = config.get('layer_norm')\nw = kinds.pop('RMSNorm')",
    "aliases in one line, and an argument's attribute": (
        "import torch\nnn, F = torch.nn, torch.nn.functional\nprint(torch, hasattr(torch, 'compile'))\n"
        "def f(block): return block.layer_norm(F.silu(x))"
    ),
    "torch about, but one's own name": (
        "import torch\nfor m in (torch, math): print(m.__version__)\nself.add_module('rms_norm', f)\nself.rms_norm(x)"
    ),
    "an argument that hides an alias": "import torch.nn.functional as F\ndef f(F): return F.rms_norm",
    "a local name that hides an alias": (
        "import torch.nn.functional as F\ndef f(x):\n    F = Config()\n    return F.rms_norm\ny = F.silu(x)"
    ),
    "scripted": "import torch\ncode = torch.jit.script(f).code\nprint(code)\ncode.runpy = 1",
    "files around": "import sys, timeit, pickle\nsys.path += a\ntimeit.timeit(f)\npickle.loads(pickle.dumps(x))",
    "a wide file": "x = 0\n" + "x = x + 1\n" * 5000,
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize("exercise", ["rmsnorm", "swiglu", "qk_norm"])
def test_honest_code_is_not_flagged(text: str, exercise: str) -> None:
    assert check_source(text, exercise) == []


FILES = sorted([*(ROOT / "mistakes").glob("*/*/*.py"), *(ROOT / "solutions").glob("*.py")])


def test_nothing_in_the_bank_or_the_solutions_is_flagged() -> None:
    assert len(FILES) > 100
    found = {path.relative_to(ROOT): check_source(path.read_text("utf-8"), "rmsnorm") for path in FILES}
    assert {path: findings for path, findings in found.items() if findings} == {}


# ── Texts that are no Python ─────────────────────────────────────────────────────────────────────────────────────────

ODD = {
    "syntax error": "import torch.nn.functional as F\nF.rms_norm(\n",
    "empty": "",
    "minuses": "x = " + "-" * 100_000 + "1",
    "brackets": "x = " + "[" * 100_000,
    "null byte": "x = 1\0",
    "surrogate": "x = '\udcff'",
    "indentation": "\n".join(" " * depth + "if 1:" for depth in range(200)),
    "byte order mark": "\ufeff\ufeffx = 1",
    "nonlocal at the top": "nonlocal x",
    "sum": "x = " + "+".join(["1"] * 100_000),
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_a_text_that_does_not_parse_has_no_findings_and_costs_no_time(text: str) -> None:
    start = time.process_time()
    assert check_source(text, "rmsnorm") == []
    assert time.process_time() - start < 2


def test_strings_that_double_are_not_built() -> None:
    doubled = "".join(f"b{n + 1} = b{n} + b{n}\n" for n in range(200))
    both = "".join(f"c{n + 1} = (c{n} if x else 'b') + (c{n} if x else 'c')\n" for n in range(200))
    tracemalloc.start()
    assert check_source(f"b0 = {'x' * 32!r}\n{doubled}c0 = 'a'\n{both}", "rmsnorm") == []
    assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        "a = a.b\n" * 3000,
        "import torch as a0\n" + "".join(f"a{n + 1} = a{n}.b if x else a{n}.c\n" for n in range(3000)),
        "import torch\n" + "f(torch, f(torch, getattr(torch, n)))\n" * 3000,
        "def f(a, b=x):\n    return f(a.b, b=a.c)\n" * 3000,
        "z = [" + "a.b.c.d(e)[f]," * 10_000 + "]",
        "[x for x in y if (z := x)]\n" * 5000,
    ],
    ids=["chain", "choices", "calls", "functions", "row", "comprehensions"],
)
def test_a_large_file_is_read_in_time(text: str) -> None:
    start = time.process_time()
    check_source(text, "rmsnorm")
    assert time.process_time() - start < 3


@pytest.mark.parametrize("depth", [500, 900, 1500, 2500])
@pytest.mark.parametrize(
    "make",
    [
        lambda depth: "x = a" + ".b" * depth,
        lambda depth: "x = 'a'" + " + 'b'" * depth,
        lambda depth: "x = " + "-" * depth + "1",
        lambda depth: "x = " + "lambda: " * depth + "1",
        lambda depth: "x = vars(" + "a" + ".b" * depth + ")",
    ],
)
def test_what_is_nested_deeply_hides_nothing(make: object, depth: int) -> None:
    assert callable(make)
    hidden = make(depth)
    start = time.process_time()
    findings = check_source(hidden + "\nimport torch\ntorch.rms_norm", "rmsnorm")
    assert time.process_time() - start < 3
    try:
        compile(hidden, "", "exec")
    except (RecursionError, MemoryError):
        return  # Python itself cannot run it
    assert findings
