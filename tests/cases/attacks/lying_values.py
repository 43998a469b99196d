"""What comes back is not what it claims to be: values, parameters, and the object itself."""

from grader.redteam.corpus import Code, Scene, attack

WRONG_AS_EVER = "attention weights"


@attack(says="object of type|must return")
def a08_equal_to_everything(scene: Scene) -> str:
    """Returns objects with a made-up shape that are equal to whatever they are compared with."""
    return scene.in_the_call("""
        class Equal:
            shape = property(lambda self: (2, 5, 4))
            dtype, device, ndim = x.dtype, x.device, 3
            __eq__ = __le__ = __ge__ = lambda self, other: True
            __hash__ = lambda self: 0
            __bool__ = all = any = lambda self: True
            __getattr__ = lambda self, name: lambda *args, **kwargs: self
            __sub__ = __rsub__ = __mul__ = abs = lambda self, *other: 0.0
            __class__ = type(x)
        return Equal(), Equal()
    """)


@attack(says=WRONG_AS_EVER)
def tensor_that_lies(scene: Scene) -> str:
    """Returns tensors of a subclass whose shape, comparisons and functions all lie."""
    return scene.in_the_call("""
        import torch
        class Lying(torch.Tensor):
            shape = property(lambda self: torch.Size([1]))
            __eq__ = __ne__ = lambda self, other: torch.ones(1, dtype=torch.bool)
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                if function is torch.Tensor.detach:
                    return torch.zeros(1)
                return super().__torch_function__(function, types, args, kwargs or {})
        output, weights = honest()
        return output.as_subclass(Lying), weights.as_subclass(Lying)
    """)


@attack(says="object of type|must return|Size|pair")
def a50_sizes_that_lie(scene: Scene) -> str:
    """Returns a torch.Size of its own kind, which equals every other."""
    return scene.in_the_call("""
        import torch
        class Any(type):
            __eq__ = lambda self, other: True
            __hash__ = lambda self: 0
            __instancecheck__ = __subclasscheck__ = lambda self, other: True
        class Size(tuple, metaclass=Any):
            __eq__ = lambda self, other: True
            __hash__ = lambda self: 0
            __len__ = lambda self: 2
            __iter__ = lambda self: iter(honest())
        return Size([1, 2, 3])
    """)


@attack(says="text|str|int|float|number|pair|must")
def numbers_that_lie(scene: Scene) -> str:
    """Returns subclasses of text, numbers and lists whose own functions lie or raise."""
    return scene.in_the_call("""
        class Text(str):
            __str__ = __eq__ = encode = lambda self, *args: 1 / 0
            __hash__ = str.__hash__
        class Number(int):
            __index__ = __int__ = bit_length = lambda self: 1 / 0
        class List(list):
            __len__ = __iter__ = lambda self: 1 / 0
        return List([Text("output"), Number(3), float("nan"), 10**400])
    """)


@attack(says="an object of type")
def claims_another_class(scene: Scene) -> str:
    """Returns an object that says it is a tensor, and reduces to a call of exit when it is pickled."""
    return scene.in_the_call("""
        import os
        class Trap:
            __class__ = property(lambda self: type(x))
            __reduce__ = __reduce_ex__ = lambda self, *args: (os._exit, (0,))
            __array__ = __torch_function__ = lambda self, *args, **kwargs: os._exit(0)
        return Trap(), Trap()
    """)


@attack(says="nested too deeply|too many parts")
def contains_itself(scene: Scene) -> str:
    """Returns a list that contains itself."""
    return scene.in_the_call("""
        endless = []
        endless.append(endless)
        return endless
    """)


@attack(says="nested too deeply|too many parts")
def too_many_parts(scene: Scene) -> str:
    """Returns a list of a million numbers, and lists that hold it over and over."""
    return scene.once("""
        many = [0] * 1_000_000
        for _ in range(8):
            many = [many] * 1_000
        return many
    """)


@attack(says="keys must be text")
def keys_that_are_objects(scene: Scene) -> str:
    """Returns a dictionary whose keys are objects and huge numbers."""
    return scene.in_the_call("return {object(): 1, 10**1000: 2, (1, 2): 3}")


@attack(says="larger than a frame|memory|stopped")
def enormous_answer(scene: Scene) -> str:
    """Returns a tensor of a few bytes that says it has four billion elements."""
    return scene.in_the_call("import torch; huge = torch.zeros(1).expand(2**32); return huge, huge")


@attack(says=WRONG_AS_EVER)
def overlapping_answer(scene: Scene) -> str:
    """Returns tensors whose elements overlap in memory, with strides of their own."""
    return scene.in_the_call("""
        import torch
        output, weights = honest()
        memory = torch.rand(output.numel() + weights.numel())
        return memory.as_strided(output.shape, (1, 1, 1)), memory.as_strided(weights.shape, (2, 1, 1))
    """)


@attack(says="sparse|meta|tensor of|must")
def odd_kinds_of_tensor(scene: Scene) -> str:
    """Returns a sparse tensor and one without values."""
    return scene.in_the_call("""
        import torch
        output, weights = honest()
        return output.to_sparse(), torch.empty_like(weights, device="meta")
    """)


@attack(says="complex|quint|tensor of|must")
def odd_types_of_tensor(scene: Scene) -> str:
    """Returns a complex tensor and a quantized one."""
    return scene.in_the_call("""
        import torch
        output, weights = honest()
        return output.to(torch.complex64), torch.quantize_per_tensor(weights.detach().float(), 0.1, 0, torch.quint8)
    """)


@attack(says="NaN")
def not_a_number(scene: Scene) -> str:
    """Returns NaN everywhere, which no comparison with a tolerance finds unequal if it is turned round."""
    return scene.in_the_call("output, weights = honest(); return output * float('nan'), weights * float('nan')")


@attack(says="dimensions|must have|tensor")
def thousand_dimensions(scene: Scene) -> str:
    """Returns a tensor of sixty dimensions and one without any."""
    return scene.in_the_call("import torch; return torch.zeros([1] * 60), torch.tensor(1.0)")


@attack(says="weights|parameter|changed|second")
def a20_parameters_zeroed(scene: Scene) -> str:
    """Zeroes its own parameters in the call, in the hope that they are read only afterwards."""
    return scene.in_the_call("""
        import torch
        answer = honest()
        for parameter in self.parameters():
            parameter.data = torch.zeros_like(parameter)
        return answer
    """)


@attack(says="weights|input|changed")
def a21_inputs_zeroed(scene: Scene) -> str:
    """Zeroes its inputs in place and returns what would be right for zeros."""
    return scene.in_the_call("""
        import torch
        with torch.no_grad():
            x.zero_()
        if mask is not None:
            mask.fill_(1)
        return honest()
    """)


@attack(says=WRONG_AS_EVER)
def a52_other_weights_shown(scene: Scene) -> str:
    """Overrides everything that shows or loads parameters, to show zeros and keep its own."""
    return scene.after("""
        def _none(self, *args, **kwargs):
            return {}
        for _name in ("state_dict", "load_state_dict"):
            setattr(SelfAttention, _name, _none)
        SelfAttention.named_parameters = SelfAttention.parameters = lambda self, *args, **kwargs: iter(())
    """)


@attack(says="weights|answer|same|eval|dtype")
def overrides_everything(scene: Scene) -> str:
    """Overrides __call__, train, eval, to and __getattr__ of its class."""
    return scene.after("""
        SelfAttention.train = SelfAttention.eval = lambda self, mode=True: self
        SelfAttention.to = SelfAttention._apply = lambda self, *args, **kwargs: self
        SelfAttention.__call__ = lambda self, *args, **kwargs: self.forward(*args, **kwargs)
    """)


@attack(says="matrix of its own|parameter|weights|shared")
def parameters_shared(scene: Scene) -> str:
    """Lets all three names stand for one matrix."""
    return scene.after("""
        _init = SelfAttention.__init__
        def __init__(self, *args, **kwargs):
            _init(self, *args, **kwargs)
            self.W_K = self.W_V = self.W_Q
        SelfAttention.__init__ = __init__
    """)


@attack(says="'Fake' object has no attribute 'train'")
def is_no_module(scene: Scene) -> str:
    """Builds an object that only claims to be a module, by its metaclass."""
    return scene.after("""
        class _Claims(type):
            __instancecheck__ = lambda cls, thing: True
            __call__ = lambda cls, *args, **kwargs: type("Fake", (), {"__class__": torch.nn.Module})()
        class SelfAttention(metaclass=_Claims):
            pass
    """)


@attack(says="must be a class|is not|stopped")
def is_no_class(scene: Scene) -> str:
    """Lets the name of the class stand for a function that returns itself."""
    return scene.after("""
        _class = SelfAttention
        SelfAttention = lambda *args, **kwargs: SelfAttention
    """)


@attack(says="gradient|weights|grad")
def gradients_made_up(scene: Scene) -> str:
    """Returns values through an autograd function of its own that makes its gradients up."""
    return scene.in_the_call("""
        import torch
        class Made(torch.autograd.Function):
            @staticmethod
            def forward(context, value):
                return value.clone()
            @staticmethod
            def backward(context, grad):
                return torch.full_like(grad, 7.0)
        output, weights = honest()
        return Made.apply(output), Made.apply(weights)
    """)


@attack(says="stopped with|parameter|weights", behind=Code.WRONG)
def plots_that_lie(scene: Scene) -> str:
    """Returns something that says it is a matplotlib figure and raises when it is looked at."""
    return scene.in_the_call("""
        class Figure:
            axes = property(lambda self: 1 / 0)
        Figure.__module__ = "matplotlib.figure"
        return Figure(), Figure()
    """)
