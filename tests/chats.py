# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chat templates in the manner of published ones, conversations, and templates that attack what renders them."""

CHATML = """\
{%- if messages[0]['role'] == 'system' -%}
    {%- set system = messages[0]['content'] | trim -%}
    {%- set turns = messages[1:] -%}
{%- else -%}
    {%- set system = 'You are a helpful assistant.' -%}
    {%- set turns = messages -%}
{%- endif -%}
{{ '<|im_start|>system\\n' + system + '<|im_end|>\\n' }}
{%- for message in turns %}
    {%- if message['role'] == 'assistant' %}
        {%- generation %}
        {{- '<|im_start|>assistant\\n' ~ message.content ~ '<|im_end|>\\n' }}
        {%- endgeneration %}
    {%- else %}
        {{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if tools %}{{ tools | tojson(indent=2) }}{% endif %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

LLAMA2 = """\
{%- if messages[0]['role'] == 'system' %}
    {%- set loop_messages = messages[1:] %}
    {%- set system_message = messages[0]['content'] %}
{%- else %}
    {%- set loop_messages = messages %}
    {%- set system_message = false %}
{%- endif %}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- if loop.index0 == 0 and system_message != false %}
        {%- set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}
    {%- else %}
        {%- set content = message['content'] %}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}
"""

MISTRAL = """\
{{- bos_token }}
{%- set ns = namespace(index=0, last=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{%- set ns.last = loop.index0 %}{%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- continue %}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
    {%- if message.role == 'user' %}
        {%- if loop.index0 == ns.last and messages[0].role == 'system' %}
            {{- '[INST]' + messages[0].content + '\\n\\n' + message.content + '[/INST]' }}
        {%- else %}
            {{- '[INST]' + message.content + '[/INST]' }}
        {%- endif %}
    {%- elif message.role == 'assistant' %}
        {{- message.content | trim + eos_token }}
    {%- else %}
        {{- raise_exception('Only user, system and assistant roles are supported, not ' + message.role | tojson) }}
    {%- endif %}
{%- endfor %}
"""

TEMPLATES = {'ChatML': CHATML, 'Llama 2': LLAMA2, 'Mistral': MISTRAL}
TOKENS = {'bos_token': '<s>', 'eos_token': '</s>'}
SPECIALS = ('<s>', '</s>', '<|im_start|>', '<|im_end|>')

USER, ANSWER = {'role': 'user', 'content': 'Is 1 < 2 & "so" on? '}, {'role': 'assistant', 'content': ' Ja, größer.\n'}
SYSTEM, MORE = {'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': "What's\tnext?"}
CONVERSATIONS = {
    'a question': [USER],
    'a second question': [USER, ANSWER, MORE],
    'a system': [SYSTEM, USER],
    'a system and a second question': [SYSTEM, USER, ANSWER, MORE],
}

ATTACKS = {
    'classes': "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    'globals of a function': "{{ raise_exception.__globals__['sys'] }}",
    'format': "{{ '{0.__class__.__init__.__globals__}'.format(messages) }}",
    'attribute by a filter': "{{ (messages | attr('__class__')).__mro__ }}",
    'code of a macro': '{% macro m() %}{% endmacro %}{{ m.__call__.__globals__ }}',
    'change of the messages': '{{ messages.append(1) }}',
    'a long text': "{{ 'a' * 10 ** 9 }}",
    'a long list': '{{ ([0] * 999999999) | length }}',
    'a power': '{{ 10 ** 10 ** 10 }}',
    'doubling': "{% set ns = namespace(x='a' * 100) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    'a long output': "{% for i in range(99999) %}{{ 'a' * 9999 }}{% endfor %}",
    'loops in loops': '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}',
    'a long range': '{% for i in range(999999999) %}{% endfor %}',
    'recursion': '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}',
    'a file': "{% include '/etc/passwd' %}",
    'an import': "{% import 'os' as os %}{{ os }}",
    'no template': '{% for %}',
    'an error of its own': "{{ raise_exception('no\nsystem') }}",
}
