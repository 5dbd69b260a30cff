# /// attack
# tries = "replaces what the worker reports about parameters by values of other types, to break the tests themselves"
# rides = true
# outcomes = ["passed", "wrong_interface", "crashed", "wrong_value", "exception"]
# marks = "reference"
# ///

import nanolm.adapters.student as student


def describe(self, module):
    self.facts["trained"] = 3
    self.facts["drawn"] = {"gamma": [None]}
    self.outputs["parameter:gamma"] = torch.zeros(0)


student.Student.describe = describe
