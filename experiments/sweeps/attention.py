# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over attention variants with equal numbers of parameters.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/attention.py \
        --workdir=runs/attention --jobs=2

Every causal mixer, kernel, softmax and score term, and the masks of sparse attention, with the same training; a variant
with fewer parameters in attention has more in its feed-forward layers. The report shows the loss compared with a
bigram model, speed, memory, FLOPs, and the bytes of decoding state per token.
"""

MIXER = 'model.block.mixer'
HEADS = 4
LENGTH, WINDOW = 64, 16  # tokens of a row, and tokens that a local part sees, the query's own among them
ROTARY = dict(use='position.rotary:Rotary')
NO_POSITION = dict(use='position.none:NoPosition')
LATENT = dict(rank=32, head_width=32, value_width=32, rotated_width=16)
PLAIN = dict(use='attention.plain:Plain')
CAUSAL = dict(use='ops.mask:Causal')
SHORT = dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True)
NORM = dict(use='norm.rms:RMSNorm')
NORMAL = dict(use='jax.nn.initializers:normal', stddev=0.02)
STARTS = dict(kernel_init=NORMAL, output_init=dict(use='jax.nn.initializers:normal', stddev=0.01))  # of two layers


def get_sweep() -> dict:
    variants = dict(
        multi_head={},
        grouped_query={f'{MIXER}.key_value_heads': 2},
        multi_query={f'{MIXER}.key_value_heads': 1},
        qk_norm={f'{MIXER}.head_norm': NORM},
        gated={f'{MIXER}.gate': dict(use='jax.nn:sigmoid')},
        **{name: {MIXER: started(spec)} for name, spec in mixers().items()},
        **{name: {MIXER: spec} for name, spec in without_attention().items()},
        **{name: {f'{MIXER}.kernel': spec} for name, spec in kernels().items()},
        **{name: {f'{MIXER}.kernel': PLAIN | dict(softmax=spec)} for name, spec in softmaxes().items()},
        **{name: {f'{MIXER}.terms': [spec]} for name, spec in terms().items()},
        **{name: {f'{MIXER}.mask': spec} for name, spec in masks().items()},
    )
    points = [{'name': name, **fields} for name, fields in variants.items()]
    return dict(
        runs=dict(list=points), seeds=1, match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01})
    )


def started(spec: dict) -> dict:
    """Return the mixer with the initial weights of the comparison, or each mixer of a layer that has several."""
    if 'mixers' in spec:
        return spec | dict(mixers=[started(each) for each in spec['mixers']])
    return STARTS | spec


def mixers(length: int = LENGTH, window: int = WINDOW) -> dict[str, dict]:
    """Return the mixers that are not settings of multi-head attention."""
    scores = dict(heads=HEADS, kernel=PLAIN, mask=CAUSAL, position=ROTARY)
    positions = scores | dict(position=NO_POSITION, length=length)
    return dict(
        latent=scores | LATENT | dict(use='attention.latent:Latent', norm=NORM),
        grouped_latent=scores
        | LATENT
        | dict(use='attention.grouped_latent:GroupedLatent', norm=NORM, latents=2, rank=16),
        grouped_tied=scores | dict(use='attention.grouped_tied:GroupedTied', key_value_heads=2, rotated_width=16),
        tensor_product=scores
        | dict(use='attention.tensor_product:TensorProduct', query_rank=6, key_rank=2, value_rank=2),
        persistent_memory=scores | dict(use='attention.persistent_memory:PersistentMemory', count=16),
        segment_memory=scores | dict(use='attention.segment_memory:SegmentMemory', length=16, memory=16),
        differential=scores | dict(use='attention.differential:Differential'),
        value_residual=scores | dict(use='attention.value_residual:ValueResidual', share=0.5),
        exclusive=scores | dict(use='attention.exclusive:Exclusive', share=1.0),
        set_attention=scores | dict(use='attention.set_attention:SetAttention', norm=NORM),
        normalized_heads=scores | dict(use='attention.normalized_heads:NormalizedHeads'),
        native_sparse=scores
        | dict(
            use='attention.native_sparse:NativeSparse',
            length=window // 2,
            stride=window // 4,
            block=window // 2,
            chosen=4,
            window=window,
        ),
        lightning_indexer=scores
        | dict(use='attention.lightning_indexer:LightningIndexer', index_heads=2, index_width=16, chosen=window),
        pooled_indexer=scores
        | dict(
            use='attention.lightning_indexer:LightningIndexer', index_heads=2, index_width=16, chosen=window, pool=4
        ),
        selective=scores | dict(use='attention.selective:Selective'),
        dense_synthesizer=positions | dict(use='attention.dense_synthesizer:DenseSynthesizer'),
        random_synthesizer=positions | dict(use='attention.random_synthesizer:RandomSynthesizer'),
        multi_token=scores
        | dict(
            use='attention.multi_token:MultiToken',
            query_size=6,
            key_size=11,
            after_query_size=6,
            after_key_size=11,
            after_mixed=HEADS,
            output_norm=NORM,
        ),
        path=scores
        | dict(use='attention.path:PaTH', rank=32, convolution=SHORT | dict(size=3, bias=False), position=NO_POSITION),
        retention=dict(use='attention.retention:Retention', heads=HEADS),
        delta_net=dict(use='attention.delta:Delta', heads=HEADS, decay=False),
        gated_delta_net=dict(use='attention.delta:Delta', heads=HEADS, gate=dict(use='jax.nn:silu')),
        gated_linear=dict(use='attention.gated_linear:GatedLinear', heads=HEADS),
        hgrn2=dict(use='attention.hgrn2:HGRN2', heads=HEADS),
        mamba2=dict(use='attention.mamba2:Mamba2', heads=HEADS, convolution=SHORT),
        log_linear_mamba2=dict(
            use='attention.log_linear_mamba2:LogLinearMamba2', heads=HEADS, convolution=SHORT, length=length
        ),
        kimi_delta=dict(use='attention.kimi_delta:KimiDelta', heads=HEADS, convolution=SHORT | dict(bias=False)),
        kimi_delta_bounded=dict(
            use='attention.kimi_delta:KimiDelta',
            heads=HEADS,
            convolution=SHORT | dict(bias=False),
            decay_bound=5.0,
            rate_init=dict(use='jax.nn.initializers:constant', value=0.0),
        ),
        gated_delta2=dict(use='attention.gated_delta2:GatedDelta2', heads=HEADS, convolution=SHORT | dict(bias=False)),
        delta_product=dict(use='attention.delta_product:DeltaProduct', heads=HEADS, updates=2),
        mlstm=dict(use='attention.mlstm:MLSTM', heads=HEADS, gate_cap=15.0),
        ttt_linear=dict(use='attention.ttt_linear:TTTLinear', heads=HEADS),
        reformer=dict(
            use='attention.reformer:Reformer',
            heads=HEADS,
            buckets=4 * length // window,
            block=window // 2,
            rounds=2,
            mask=dict(use='ops.mask:Causal'),
        ),
        causal_luna=dict(use='attention.causal_luna:CausalLuna', heads=HEADS, slots=16),
        side_by_side=dict(
            use='attention.side_by_side:SideBySide',
            mixers=[
                scores | dict(use='attention.multi_head:MultiHead', heads=HEADS // 2, head_width=32),
                dict(use='attention.mamba2:Mamba2', heads=HEADS // 2, head_width=32, convolution=SHORT),
            ],
        ),
        rwkv7=dict(use='attention.rwkv7:RWKV7', heads=HEADS, decay_rank=16, rate_rank=16, gate_rank=32, value_rank=16),
    )


def without_attention(length: int = LENGTH, window: int = WINDOW) -> dict[str, dict]:
    wide = dict(size=window - 1, heads=HEADS)
    return dict(
        lstm=dict(use='recurrent.mixer.recurrent:Recurrent', cell=dict(use='recurrent.cell.lstm:LSTM', width=128)),
        slstm=dict(use='recurrent.mixer.recurrent:Recurrent', cell=dict(use='recurrent.cell.slstm:SLSTM', width=128)),
        slstm_heads=dict(
            use='recurrent.mixer.recurrent:Recurrent',
            cell=dict(use='recurrent.cell.slstm:SLSTM', width=128, heads=HEADS),
        ),
        convolution=dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=False),
        lightweight_convolution=wide | dict(use='recurrent.mixer.lightweight_convolution:LightweightConvolution'),
        dynamic_convolution=wide | dict(use='recurrent.mixer.dynamic_convolution:DynamicConvolution'),
        hyena=dict(use='recurrent.mixer.hyena:Hyena', length=length),
        s4d=dict(use='recurrent.mixer.s4d:S4D'),
    )


def kernels(length: int = LENGTH, window: int = WINDOW) -> dict[str, dict]:
    return dict(
        blockwise=dict(use='attention.blockwise:Blockwise', query_block=2 * window, key_block=2 * window),
        moba=dict(use='attention.moba:MoBA', block=window // 2, chosen=3, inner=PLAIN),
        linear=dict(use='attention.linear:Linear'),
        performer=dict(use='attention.performer:Performer', random_features=64),
        cosformer=dict(use='attention.cosformer:CosFormer', length=length),
    )


def softmaxes(length: int = LENGTH) -> dict[str, dict]:
    return dict(
        sink=dict(use='softmax.sink:LearnedSink'),
        softmax_one=dict(use='softmax.softmax_one:SoftmaxOne'),
        sigmoid=dict(use='softmax.sigmoid:Sigmoid', length=length),
        scalable=dict(use='softmax.scalable:Scalable', length=length),
        top_k=dict(use='softmax.top_k:TopK', k=8),
        entmax=dict(use='softmax.entmax:Entmax', alpha=1.5),
        talking_heads=dict(use='softmax.talking_heads:TalkingHeads'),
    )


def terms() -> dict[str, dict]:
    return dict(
        softcap=dict(use='ops.term:Softcap', cap=50.0),
        cosine=dict(use='score.cosine:Cosine'),
        forget_gate=dict(use='score.forget_gate:ForgetGate'),
        squared_distance=dict(use='score.squared_distance:SquaredDistance'),
    )


def masks(length: int = LENGTH, window: int = WINDOW) -> dict[str, dict]:
    def causal(*masks: dict) -> dict:
        return dict(use='ops.mask:all_of', masks=[*masks, CAUSAL])

    pattern, side = 'ops.pattern:', window - 1
    return dict(
        window=causal(dict(use='ops.mask:Window', left=side)),
        dilated_window=causal(dict(use=f'{pattern}dilated_window', left=side, right=0, dilation=2)),
        chunked=causal(dict(use='ops.mask:Chunked', length=window)),
        longformer=causal(dict(use=f'{pattern}longformer', left=side, right=0, tokens=4)),
        big_bird=causal(
            dict(use=f'{pattern}big_bird', side=side, tokens=4, size=window // 2, count=2, length=length, seed=0),
        ),
        sparse_strided=dict(use=f'{pattern}sparse_strided', stride=window // 2),
        sparse_fixed=dict(use=f'{pattern}sparse_fixed', length=window // 2, count=2),
    )
