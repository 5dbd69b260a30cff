# /// attack
# rides = true
# tries = "replaces what the worker reports about parameters by values of other types, to break the tests themselves"
# outcomes = ["passed", "wrong_interface", "crashed", "wrong_value", "exception"]
# marks = "reference"
# ///

STUDENT = next(cls for cls in object.__subclasses__() if cls.__module__ == "nanolm.adapters.student")


def describe(self, module):
    self.facts["trained"] = 3
    self.facts["drawn"] = {"gamma": [None]}
    self.outputs["parameter:gamma"] = torch.zeros(0)


STUDENT.describe = describe
