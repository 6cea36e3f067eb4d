# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Keras 3.15 on JAX: a GRU under the policy mixed_bfloat16 does not run by stateless_call.

stateless_call is how JAX training loops call a layer. Called as layer(x) it runs, and so do LSTM and SimpleRNN by
stateless_call. The guides on mixed precision and on JAX training loops name no exception.

Covers KerasHub: GRU; bfloat16
"""

import os

os.environ['KERAS_BACKEND'] = 'jax'
import keras
import numpy as np

x = np.ones((2, 5, 16), np.float32)
for kind in (keras.layers.LSTM, keras.layers.GRU):
    layer = kind(16, return_sequences=True, dtype='mixed_bfloat16')
    layer.build(x.shape)
    held = layer.trainable_variables, layer.non_trainable_variables
    parameters, rest = ([each.value for each in variables] for variables in held)
    print(kind.__name__, 'called:', layer(x).dtype)
    try:
        print(kind.__name__, 'by stateless_call:', layer.stateless_call(parameters, rest, x)[0].dtype)
    except TypeError as error:
        print(kind.__name__, 'by stateless_call:', str(error).splitlines()[2])
