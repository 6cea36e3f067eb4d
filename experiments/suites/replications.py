# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Published claims at small size, each with a margin declared before its runs.

    python launch/suite.py --suite=experiments/suites/replications.py --workdir=runs/replications --jobs=2 \\
        --records=docs/results/replications.tar.xz --page=docs/results/replications.md

docs/results/protocol.md has the rules of the verdicts, and the claims that are not in this suite. Fifteen claims had
earlier or pilot runs when their margin was declared, and claim 17 (selection) was declared again after a first
contradiction: the protocol lists both under "Deviations".
"""

from typing import Any

LANGUAGE, PARITY, RECALL = (
    f'experiments/{name}.py' for name in ('causal_lm/comparison', 'diagnostics/parity', 'diagnostics/recall')
)


def get_suite() -> dict[str, Any]:
    return dict(
        one_layer_recall=decides(
            'one recurrent layer with a convolution recalls, one layer of attention does not',
            '2508.19029',
            'experiments/diagnostics/recall_zoology.py',
            'recall',
            better='gated_delta_net_1',
            worse=['attention_1'],
            metric='accuracy',
            margin=0.1,
        ),
        negative_eigenvalues=decides(
            'DeltaNet learns parity with b up to 2, and not with b up to 1',
            '2411.12537',
            PARITY,
            'parity',
            better='b_to_2',
            worse=['b_to_1'],
            metric='accuracy',
            margin=0.1,
            splits=['validation', 'validation_256'],
        ),
        two_updates=decides(
            'DeltaProduct learns S3 in one layer with two updates per token, and not with one',
            '2502.10297',
            'experiments/diagnostics/permutations.py',
            'permutations',
            better='two',
            worse=['one'],
            metric='accuracy',
            margin=0.1,
            splits=['validation', 'validation_128'],
        ),
        length_of_parity=decides(
            'an LSTM keeps parity at six times the trained length, a Transformer does not',
            '2207.02098',
            PARITY,
            'regular',
            better='lstm',
            worse=['attention', 'attention_without_positions'],
            metric='accuracy',
            margin=0.1,
            splits=['validation_256'],
        ),
        extrapolation=decides(
            'from once to eight times the trained length ALiBi loses less than sinusoids',
            '2108.12409',
            LANGUAGE,
            'extrapolation',
            better='alibi',
            worse=['sinusoid'],
            metric='bits_per_byte',
            margin=0.05,
            splits=['validation_512'],
            since='validation_64',
        ),
        high_rate=decides(
            'with normalised queries and keys training is stable at ten times the rate',
            '2302.05442',
            LANGUAGE,
            'high_rate',
            better='normalised',
            worse=['plain'],
            metric='loss',
            margin=0.05,
        ),
        deep_residuals=decides(
            'ReZero trains 32 layers faster than post-norm',
            '2003.04887',
            LANGUAGE,
            'deep_residuals',
            better='rezero',
            worse=['post_norm'],
            metric='loss',
            margin=0.05,
        ),
        without_warmup=decides(
            'pre-norm trains without warm-up, post-norm does not',
            '2002.04745',
            LANGUAGE,
            'without_warmup',
            better='pre_norm',
            worse=['post_norm'],
            metric='loss',
            margin=0.05,
        ),
        grouped_queries=decides(
            '2 key-value heads for 8 query heads lose less than 0.02 nats',
            '2305.13245',
            LANGUAGE,
            'grouped_queries',
            better='2_of_8',
            worse=['8_of_8'],
            metric='loss',
            margin=-0.02,
        ),
        largest_of_a_set=decides(
            'attention over a set finds its maximum, the mean over its members does not',
            '1810.00825',
            'experiments/sets/largest.py',
            'pooling_of_sets',
            better='attention_attention',
            worse=['alone_mean'],
            metric='loss',
            margin=0.02,
        ),
        convolution_first=decides(
            'after a convolution one layer of attention recalls 4 pairs of 8,192 tokens in 64',
            '2402.18668',
            'experiments/diagnostics/recall_based.py',
            'convolution_first',
            better='with',
            worse=['without'],
            metric='accuracy',
            margin=0.1,
        ),
        induction=decides(
            'two layers of attention learn induction, one layer does not',
            '2209.11895',
            RECALL,
            'induction',
            better='layers_2',
            worse=['layers_1'],
            metric='loss',
            margin=0.5,
        ),
        path_star=decides(
            'next-token training fails on path-star graphs, reversed targets succeed',
            '2403.06963',
            'experiments/diagnostics/path_star.py',
            'path_star',
            better='backwards',
            worse=['forwards'],
            metric='solved',
            margin=0.1,
        ),
        small_batch=decides(
            'at batches of 32 the sigmoid loss is better than the softmax loss',
            '2303.15343',
            'experiments/pairs/clip.py',
            'contrastive_losses',
            size='small_batch',
            better='siglip_32',
            worse=['clip_32'],
            metric='image_to_text_recall_at_1',
            margin=0.02,
        ),
        selection=decides(
            'a selective mixer copies marked tokens, time-invariant ones do not',
            '2312.00752',
            RECALL,
            'selection',
            better='mamba2',
            worse=['s4d', 's4d_after_convolution'],
            metric='accuracy',
            margin=0.1,
        ),
        no_positions=decides(
            'without positions attention generalises to twice the length better than with rotary ones',
            '2305.19466',
            RECALL,
            'no_positions',
            better='none',
            worse=['rotary'],
            metric='accuracy',
            margin=0.05,
            splits=['validation_96'],
        ),
        equal_states=decides(
            'a delta rule recalls more pairs than gated linear attention with a state of the same size',
            '2412.06464',
            RECALL,
            'equal_states',
            better='gated_delta_net',
            worse=['gated_linear'],
            metric='accuracy',
            margin=0.05,
        ),
        lazy_windows=decides(
            'a larger window in the other layer delays retrieval by a layer of full attention',
            '2606.15378',
            RECALL,
            'lazy_windows',
            better='window_4',
            worse=['window_16'],
            metric='loss',
            margin=0.05,
        ),
        path=decides(
            'attention with PaTH tracks parity, with rotary positions it does not',
            '2505.16381',
            PARITY,
            'path',
            better='path',
            worse=['rotary'],
            metric='accuracy',
            margin=0.1,
        ),
        two_tokens=decides(
            'with a head that predicts the token after the next, induction is learned better',
            '2404.19737',
            RECALL,
            'multi_token',
            better='parallel',
            worse=['next_token'],
            metric='loss',
            margin=0.05,
        ),
    )


def decides(says: str, paper: str, config: str, sweep: str, *, size: str | None = None, **claim: Any) -> dict[str, Any]:
    """Return a sweep with the claim that it decides. Args: paper, its number at arxiv.org; size of the sweep."""
    source = f'https://arxiv.org/abs/{paper}'
    claim = dict(says=says, source=source, **claim)
    return dict(config=config, sweep=f'experiments/sweeps/{sweep}.py', size=size, claim=claim)
