"""Every diagnosis: its id, what is observed, a question to think about, which aspects it explains."""

from __future__ import annotations

from dataclasses import dataclass

from tests.diagnosis.bonus import BONUS


@dataclass(frozen=True)
class Finding:
    """One diagnosis of one candidate."""

    id: str
    sentence: str
    question: str
    aspects: frozenset[str]
    stand_ins: tuple[tuple[str, str], ...] = ()  # (a projection, the one that did its work)


ALL = frozenset({"shapes", "masking", "parity", "gradients", "dropout", "device", "contract"})
_NUMBERS = frozenset({"parity", "gradients"})
_WEIGHTS = frozenset({"parity", "gradients", "masking", "dropout"})
_MASKS = frozenset({"masking", "parity", "gradients", "contract", "device"})

# id -> (what is observed, a question, the aspects that it explains)
_CATALOGUE: dict[str, tuple[str, str, frozenset[str]]] = {
    # building and returning
    "constructor-crash": (
        "The constructor stops with an error.",
        "What has to exist before a layer can be attached to a module, and which line brings it into being?",
        ALL,
    ),
    "argument-names": (
        "An argument of the promised name is not accepted.",
        "Are your arguments called what the signature calls them?",
        ALL,
    ),
    "parameter-names": (
        "The projections are not where they were promised: parameters of the promised names are missing.",
        "Which names does list(layer.state_dict()) show, and which does the task ask for? "
        "Would an optimiser find them?",
        ALL,
    ),
    "parameter-shapes": (
        "A projection's matrix has another shape than promised.",
        "Which side of nn.Linear is in, which is out, and how many weights should all heads own together?",
        ALL,
    ),
    "bias-on": (
        "The projections have a bias.",
        "How many numbers does nn.Linear learn unless you say otherwise?",
        frozenset({"contract", "parity", "gradients"}),
    ),
    "extra-parameters": (
        "The layer learns parameters that were not asked for.",
        "Which of your parameters appears in the formula?",
        frozenset({"contract"}),
    ),
    "parameters-shared": (
        "Two projections, or two layers, share one matrix: setting one changes the other.",
        "How many different matrices does the formula name, and how many did you make?",
        ALL,
    ),
    "returns-no-pair": (
        "forward does not return the pair (output, attention_weights).",
        "What does the return type in the signature promise, and in which order?",
        ALL,
    ),
    "weights-shape": (
        "The attention weights lack an axis, or have one too many.",
        "Print the shape of your weights for 3 heads and a batch of 2. Which axis means what?",
        ALL,
    ),
    "output-shape": (
        "The output has another shape than promised.",
        "How wide should one token of the output be, and how many tokens are there?",
        ALL,
    ),
    "width-ignored": (
        "The width d_k that was asked for is not the width that came out.",
        "Ask for d_k = 5 with d_model = 8 and print the shapes of q, k, v and the output.",
        ALL,
    ),
    "raises": (
        "Every call stops with an error.",
        "Read the last line of the error: which two shapes did not fit, and where did each come from?",
        ALL,
    ),
    "library-attention": (
        "The library's own attention is called, which is refused here.",
        "Which steps does that call hide, and which of them can you write yourself?",
        ALL,
    ),
    "sizes-assumed": (
        "It works at some sizes only.",
        "Try 4 queries with 6 keys, a batch of 1, a batch of 3. Which line has a size built in?",
        ALL,
    ),
    "memory-order": (
        "It works only on inputs whose numbers lie in memory in order.",
        "view() needs memory in order. Do you know in which order your tensors lie?",
        frozenset({"shapes", "contract", "parity"}),
    ),
    # scores and softmax
    "scale-missing": (
        "The weights are those of scores that were not scaled at all.",
        "Print the spread of your raw scores for d_k = 4 and d_k = 256. What should keep it level?",
        _NUMBERS,
    ),
    "scale-wrong": (
        "The weights are those of scores with another scale.",
        "How many numbers are summed in one dot product, and which number in your scale says so?",
        _NUMBERS,
    ),
    "softmax-axis": (
        "The weights add up to 1 along another axis than the keys.",
        "Take one query. Over which positions must its weights share out 1.0?",
        _WEIGHTS,
    ),
    "softmax-missing": (
        "The weights of a query are no shares: they do not add up to 1.",
        "Between the scores and the weights, what turns numbers of any size into shares?",
        _WEIGHTS,
    ),
    "softmax-twice": (
        "The weights are much more even than they should be, as if shares were shared out once more.",
        "How often does your code turn numbers into shares?",
        _WEIGHTS,
    ),
    "softmax-altered": (
        "The weights are close to the softmax, but not it.",
        "What happens to your weights between the softmax and the return: rounding, a small number added?",
        _WEIGHTS,
    ),
    "softmax-overflow": (
        "Very large or very different scores give NaN or lose a row.",
        "What is e to the power of 300? And what does one row's largest score mean for another row?",
        frozenset({"parity", "masking"}),
    ),
    "causal-always": (
        "Later tokens get no weight although no mask says so.",
        "Without a mask every token may look everywhere. Which line blocks the future?",
        _WEIGHTS,
    ),
    # projections and sources
    "projection-swapped": (
        "Two projections have changed places.",
        "For q, k and v in turn: which matrix makes it?",
        _NUMBERS,
    ),
    "projection-reused": (
        "One projection does the work of two.",
        "For q, k and v in turn: which matrix makes it?",
        _NUMBERS,
    ),
    "projection-transposed": (
        "A projection's matrix is used the other way round.",
        "nn.Linear keeps its matrix as (out, in). What does calling the layer do with it?",
        _NUMBERS | {"shapes", "contract", "masking"},
    ),
    "projection-unused": (
        "A projection has no effect: the input is used as it came.",
        "Set one matrix at a time to zero. Which of them changes nothing?",
        _NUMBERS,
    ),
    "output-projection-missing": (
        "The output is the heads side by side, before the last projection.",
        "Which of the four matrices never appears in your forward?",
        _NUMBERS | {"dropout"},
    ),
    "activation-added": (
        "Negative numbers are cut off after a projection.",
        "Is there a non-linearity in the formula besides the softmax?",
        _NUMBERS,
    ),
    "sources-mixed": (
        "Queries, keys or values are made from the wrong input.",
        "Call the layer with inputs that differ from one another. From which should q, k and v each come?",
        _NUMBERS | {"masking", "contract", "shapes"},
    ),
    "weights-transposed": (
        "The values are mixed with the weights turned round.",
        "One row of the output: is it made with one row of the weights, or one column?",
        _NUMBERS | {"masking"},
    ),
    # heads and batch
    "heads-split-order": (
        "The features reach the heads in another order.",
        "Follow the features of token 0 through your reshape with torch.arange. Which of them reach head 0?",
        _NUMBERS | {"shapes", "contract", "masking", "dropout"},
    ),
    "heads-merge-order": (
        "The heads are put together again in another order.",
        "After attention, how do the features of head 0 and head 1 lie in memory, and how should they?",
        _NUMBERS | {"dropout"},
    ),
    "heads-mixed": (
        "The heads are not kept apart.",
        "Over which axis do two positions meet in your products, and where does the axis of heads stand?",
        ALL,
    ),
    "batch-mixed": (
        "The answer for one sample depends on the others in its batch.",
        "Is the second sentence's answer the same alone as in a batch?",
        ALL,
    ),
    # masks
    "mask-inverted": (
        "The mask is read the other way round: what it allows is blocked, what it blocks may be seen.",
        "In this task, what does a 0 in the mask mean? And what did your code take it for?",
        _MASKS,
    ),
    "mask-ignored": (
        "The mask changes nothing.",
        "Does your masking step change the scores, or make new ones that nobody uses?",
        _MASKS,
    ),
    "mask-after-softmax": (
        "Blocked weights are changed after the shares were made, so the rest no longer adds up to 1.",
        "After masking, do the weights of a query still add up to 1? When should they have been blocked?",
        _MASKS,
    ),
    "mask-fill-too-mild": (
        "A blocked key keeps a little weight, or wins when the other scores are low.",
        "How far below the allowed scores is a blocked one? Try allowed scores of -20,000.",
        _MASKS,
    ),
    "mask-added": (
        "The mask's ones and zeros were added to the scores, or multiplied with them.",
        "What does adding 0 or 1 do to a score? And multiplying it by 0?",
        _MASKS,
    ),
    "mask-wrong-axis": (
        "Other positions are blocked than the mask says.",
        "Write the mask's shape next to the scores' shape, from the right. Which axis meets which?",
        _MASKS,
    ),
    "mask-nan": (
        "The mask puts NaN where numbers should be.",
        "What is 0 times infinity, and infinity minus infinity?",
        _MASKS,
    ),
    "mask-crash": (
        "A mask, or one of the accepted forms of it, stops the call with an error.",
        "Try a bool, an int and a float mask, of two and of three axes. Which of them stops?",
        _MASKS,
    ),
    "mask-required": (
        "Without a mask the call stops with an error.",
        "The signature allows a call without a mask. Which line needs one?",
        ALL,
    ),
    "mask-on-values": (
        "The mask touches the values or the output, but not the weights.",
        "A value of zero still takes part in the mixture. Does it take a share?",
        _MASKS,
    ),
    "mask-values": (
        "A mask value other than 0 and 1 is misread.",
        "The rule says what 0 means, and what everything else means. Does your code ask that very question?",
        _MASKS,
    ),
    "blocked-row-inconsistent": (
        "For a query that may see nothing the weights say one thing and the output another.",
        "Do your output and weights tell the same story about a query that may see nothing?",
        frozenset({"masking"}),
    ),
    # dropout
    "dropout-in-eval": (
        "In eval mode two calls with the same input differ.",
        "Who tells your dropout whether the layer is training?",
        ALL,
    ),
    "dropout-missing": (
        "In train mode nothing is dropped.",
        "Set dropout to 0.9 in train mode: does the output move between calls? Which line should use it?",
        frozenset({"dropout", "device"}),
    ),
    "dropout-misplaced": (
        "What is dropped are not whole links between tokens, or not those alone.",
        "In this layer, what is dropped: a link between two tokens, or a feature? And how often in one call?",
        frozenset({"dropout"}),
    ),
    "dropout-unscaled": (
        "Links are dropped, but those that stay are not scaled up by 1/(1-p).",
        "Average many outputs in train mode and compare with eval. What keeps the mean?",
        frozenset({"dropout"}),
    ),
    "dropout-probability": (
        "Another share of the links is dropped than was asked for.",
        "Build the layer with dropout 0.0, 0.3 and 0.8 and count the zeros.",
        frozenset({"dropout"}),
    ),
    "dropout-not-random": (
        "In train mode every call drops the same links.",
        "Draw torch.rand before and after a call: who has set the seed?",
        frozenset({"dropout", "device"}),
    ),
    "dropout-lost": (
        "After eval mode, train mode no longer drops anything.",
        "Go to eval, call, and back to train: what has changed inside the layer?",
        frozenset({"dropout", "device"}),
    ),
    # promises
    "gradient-cut": (
        "No gradient arrives at some input or parameter.",
        "Which step between your parameters and the output can autograd not follow back?",
        frozenset({"gradients", "device"}),
    ),
    "gradient-broken": (
        "The backward pass stops with an error.",
        "Which tensor did you write into after autograd had taken note of it?",
        frozenset({"gradients", "device"}),
    ),
    "dtype-changed": (
        "It works in float32, but not in every dtype, or gives back another.",
        "Which of your tensors did not come from the inputs, and which dtype were they born with?",
        frozenset({"contract", "parity", "device"}),
    ),
    "device-fixed": (
        "A tensor was made on one fixed device instead of where the input is.",
        "On which device was each of your tensors born?",
        frozenset({"device"}) | ALL,
    ),
    "input-modified": (
        "The caller's input is changed by the call.",
        "Which of your lines writes into a tensor that belongs to the caller?",
        frozenset({"contract", "gradients", "masking", "parity"}),
    ),
    "mask-modified": (
        "The caller's mask is changed by the call.",
        "Call the layer twice with the same mask object. Which line writes into it?",
        frozenset({"contract", "masking"}),
    ),
    "state-kept": (
        "A call's answer depends on the calls before it.",
        "What does your layer remember from one call to the next?",
        ALL,
    ),
    "indivisible-accepted": (
        "A d_model that num_heads does not divide is accepted, or refused with another error than promised.",
        "How wide would each head be with 10 features and 3 heads?",
        frozenset({"contract"}),
    ),
    **BONUS,
}


def finding(id: str, observed: str = "") -> Finding:
    """The diagnosis of that id; ``observed`` adds what was seen this time."""
    sentence, question, aspects = _CATALOGUE[id]
    return Finding(id, f"{sentence} {observed}".strip(), question, aspects)


def known() -> list[str]:
    """The ids of all diagnoses."""
    return list(_CATALOGUE)
