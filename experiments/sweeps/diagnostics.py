# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over mixers on one diagnostic, each with a tuned learning rate.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/diagnostics.py \\
        --workdir=runs/recall --jobs=2
    python launch/report.py --workdir=runs/recall --metric=accuracy

Any diagnostic may be the config. The mixers are causal ones of every family, with the size of the config's own model;
four rates are searched for each on one seed, and five seeds compared at the best rate. `--size=NAME` selects one of six
sizes, `--budget=MINUTES` the largest that fits: `all`; `halving`, with a search by halving; `short`, 1,000 steps;
`quick`, 300 steps and three seeds, without attention with other projections; `few`, 500 steps of seven mixers; `least`,
300 steps of these, three seeds.
"""

from typing import Any

MIXER = 'model.block.mixer'
HEADS = 2
LONGEST = 512  # tokens: of the longest rows that the diagnostics have, evaluation included
NORM = dict(use='norm.rms:RMSNorm')
SHORT = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)
PLAIN = dict(use='attention.plain:Plain')
ATTENTION = dict(
    use='attention.multi_head:MultiHead',
    heads=HEADS,
    kernel=PLAIN,
    mask=dict(use='ops.mask:Causal'),
    position=dict(use='position.rotary:Rotary'),
)


RATES = dict(by={'schedule.peak': [3e-4, 1e-3, 3e-3, 1e-2]}, seeds=[100], metric='accuracy')
# Attention with other projections or other inputs of heads.
PROJECTED = (
    'latent',
    'grouped_latent',
    'grouped_tied',
    'tensor_product',
    'normalized_heads',
    'exclusive',
    'value_residual',
    'persistent_memory',
)
# One of each kind: all tokens, few tokens, a sum, a decaying sum, an overwritten state, the same with a sign, a cell.
FEW = ('attention', 'window', 'linear', 'retention', 'delta_net', 'delta_net_negative', 'lstm')


def get_sweep() -> dict[str, Any]:
    points = [{'name': name, MIXER: mixer} for name, mixer in mixers().items()]
    few = [point for point in points if point['name'] in FEW]
    most = [point for point in points if point['name'] not in PROJECTED]

    def halving(*steps: int) -> dict[str, Any]:
        return RATES | dict(halving=dict(steps=[*steps]))

    return dict(
        runs=dict(list=points),
        seeds=5,
        match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01}),
        tune=RATES,
        sizes=[
            dict(name='all'),
            dict(name='halving', tune=halving(500, 1000)),
            dict(name='short', config={'steps': 1000}, tune=halving(250, 500)),
            dict(name='quick', config={'steps': 300}, seeds=3, tune=halving(100), runs=dict(list=most)),
            dict(name='few', config={'steps': 500}, tune=halving(125, 250), runs=dict(list=few)),
            dict(name='least', config={'steps': 300}, seeds=3, tune=halving(100), runs=dict(list=few)),
        ],
    )


def mixers() -> dict[str, dict[str, Any]]:
    return attentions() | recurrences()


def attentions() -> dict[str, dict[str, Any]]:
    """Return the mixers with a weight for each pair of tokens, or for selected pairs."""
    without = dict(position=dict(use='position.none:NoPosition'))
    latent = dict(rank=32, head_width=32, value_width=32, rotated_width=16, norm=NORM)
    return dict(
        attention=ATTENTION,
        attention_without_positions=ATTENTION | without,
        window=ATTENTION | dict(mask=window(16)),
        forgetting=ATTENTION | dict(terms=[dict(use='score.forget_gate:ForgetGate')]) | without,
        moba=ATTENTION | dict(kernel=dict(use='attention.moba:MoBA', block=8, chosen=2, inner=PLAIN)),
        native_sparse=ATTENTION
        | dict(
            use='attention.native_sparse:NativeSparse',
            key_value_heads=1,
            length=4,
            stride=4,
            block=8,
            chosen=3,
            window=8,
        ),
        lightning_indexer=ATTENTION
        | dict(use='attention.lightning_indexer:LightningIndexer', index_heads=2, index_width=16, chosen=8),
        selective=ATTENTION | dict(use='attention.selective:Selective'),
        multi_token=ATTENTION
        | dict(
            use='attention.multi_token:MultiToken',
            query_size=6,
            key_size=11,
            after_query_size=6,
            after_key_size=11,
            after_mixed=HEADS,
            output_norm=NORM,
        ),
        path=ATTENTION
        | dict(use='attention.path:PaTH', rank=32, convolution=SHORT | dict(size=3, bias=False))
        | without,
        differential=ATTENTION | dict(use='attention.differential:Differential'),
        segment_memory=ATTENTION | dict(use='attention.segment_memory:SegmentMemory', length=8, memory=8),
        latent=ATTENTION | latent | dict(use='attention.latent:Latent'),
        grouped_latent=ATTENTION | latent | dict(use='attention.grouped_latent:GroupedLatent', latents=2, rank=16),
        grouped_tied=ATTENTION | dict(use='attention.grouped_tied:GroupedTied', key_value_heads=1, rotated_width=16),
        tensor_product=ATTENTION
        | dict(use='attention.tensor_product:TensorProduct', query_rank=6, key_rank=2, value_rank=2),
        normalized_heads=ATTENTION | dict(use='attention.normalized_heads:NormalizedHeads'),
        exclusive=ATTENTION | dict(use='attention.exclusive:Exclusive', share=1.0),
        set_attention=ATTENTION | dict(use='attention.set_attention:SetAttention'),
        value_residual=ATTENTION | dict(use='attention.value_residual:ValueResidual', share=0.5),
        reformer=dict(
            use='attention.reformer:Reformer',
            heads=HEADS,
            buckets=16,
            block=8,
            rounds=4,
            mask=dict(use='ops.mask:Causal'),
        ),
        persistent_memory=ATTENTION | dict(use='attention.persistent_memory:PersistentMemory', count=16),
    )


def window(size: int) -> dict[str, Any]:
    """Return the mask of causal attention to the newest `size` tokens."""
    return dict(use='ops.mask:all_of', masks=[dict(use='ops.mask:Window', left=size - 1), dict(use='ops.mask:Causal')])


def recurrences() -> dict[str, dict[str, Any]]:
    """Return the mixers with a state of fixed size."""
    without = dict(position=dict(use='position.none:NoPosition'))
    cell = dict(use='recurrent.mixer.recurrent:Recurrent')
    return dict(
        linear=ATTENTION | dict(kernel=dict(use='attention.linear:Linear')) | without,
        performer=ATTENTION | dict(kernel=dict(use='attention.performer:Performer', random_features=64)) | without,
        retention=dict(use='attention.retention:Retention', heads=HEADS),
        gated_linear=dict(use='attention.gated_linear:GatedLinear', heads=HEADS),
        hgrn2=dict(use='attention.hgrn2:HGRN2', heads=HEADS),
        mamba2=dict(use='attention.mamba2:Mamba2', heads=HEADS, convolution=SHORT),
        log_linear_mamba2=dict(
            use='attention.log_linear_mamba2:LogLinearMamba2', heads=HEADS, convolution=SHORT, length=LONGEST
        ),
        mlstm=dict(use='attention.mlstm:MLSTM', heads=HEADS, gate_cap=15.0),
        rwkv7=dict(use='attention.rwkv7:RWKV7', heads=HEADS, decay_rank=16, rate_rank=16, gate_rank=32, value_rank=16),
        delta_net=dict(use='attention.delta:Delta', heads=HEADS, decay=False),
        delta_net_negative=dict(use='attention.delta:Delta', heads=HEADS, decay=False, negative_eigenvalues=True),
        gated_delta_net=dict(use='attention.delta:Delta', heads=HEADS),
        gated_delta_net_with_convolution=dict(use='attention.delta:Delta', heads=HEADS, convolution=SHORT),
        gated_delta_net2=dict(use='attention.gated_delta2:GatedDelta2', heads=HEADS),
        kimi_delta=dict(use='attention.kimi_delta:KimiDelta', heads=HEADS),
        delta_product=dict(use='attention.delta_product:DeltaProduct', heads=HEADS, updates=2),
        ttt_linear=dict(use='attention.ttt_linear:TTTLinear', heads=HEADS),
        causal_luna=dict(use='attention.causal_luna:CausalLuna', heads=HEADS, slots=16),
        side_by_side=dict(
            use='attention.side_by_side:SideBySide',
            mixers=[
                ATTENTION | dict(heads=HEADS // 2, head_width=32),
                dict(use='attention.mamba2:Mamba2', heads=HEADS // 2, head_width=32, convolution=SHORT),
            ],
        ),
        lstm=cell | dict(cell=dict(use='recurrent.cell.lstm:LSTM', width=64)),
        gru=cell | dict(cell=dict(use='recurrent.cell.gru:GRU', width=64)),
        slstm=cell | dict(cell=dict(use='recurrent.cell.slstm:SLSTM', width=64)),
        convolution=dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=False),
        lightweight_convolution=dict(
            use='recurrent.mixer.lightweight_convolution:LightweightConvolution', size=4, heads=HEADS
        ),
        dynamic_convolution=dict(use='recurrent.mixer.dynamic_convolution:DynamicConvolution', size=4, heads=HEADS),
        hyena=dict(use='recurrent.mixer.hyena:Hyena', length=LONGEST),
        s4d=dict(use='recurrent.mixer.s4d:S4D'),
    )
