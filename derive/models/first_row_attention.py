"""First row of tied attention: the label is the softmax of one row, as for the last token of a
language model.
"""

from dataclasses import replace

from derive.language.channel import first_row_softmax
from derive.models.tied_attention import MODEL as ALL_ROWS

MODEL = replace(
    ALL_ROWS,
    name="first_row_attention",
    title="First row of tied attention, Marchenko-Pastur target, two tokens, trace penalty",
    channel=replace(ALL_ROWS.channel, output=first_row_softmax),
)
