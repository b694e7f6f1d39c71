// Any JSON as the variables of a template that does what those of GLM do.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "text/chat_template.h"

namespace {

constexpr std::string_view kTemplate = R"(<start>
{%- macro plain(content) -%}
  {%- if content is string -%}{{- content -}}
  {%- elif content is iterable and content is not mapping -%}
    {%- for part in content -%}
      {%- if part is string -%}{{- part -}}
      {%- elif part is mapping and part.type == 'text' -%}{{- part.text -}}
      {%- elif part is mapping -%}[{{ part.type | replace('_url', '') | upper }}]{%- endif -%}
    {%- endfor -%}
  {%- else -%}{{- content -}}{%- endif -%}
{%- endmacro -%}
{%- if tools -%}<|system|>
{% for tool in tools %}
  {%- set f = tool['function'] if 'function' in tool else tool -%}
  {{- '{' }}{% for k, v in f.items() if k != 'strict' %}"{{ k }}": {{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}{{ '}' }}
{% endfor %}
{%- endif -%}
{%- set seen = namespace(user=-1, names=[]) -%}
{%- for m in messages -%}
  {%- if m.role == 'user' -%}{%- set seen.user = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for m in messages -%}
  {%- set text = plain(m.content) -%}
  {%- if m.role == 'assistant' -%}
    {%- if '</think>' in text -%}
      {%- set thought = text.split('</think>')[0].split('<think>')[-1].strip() -%}
      {%- set text = text.split('</think>')[-1].lstrip('\n') -%}
    {%- elif m.reasoning_content is string -%}
      {%- set thought = m.reasoning_content -%}
    {%- endif -%}
    <|assistant|>{% if loop.index0 > seen.user and thought is defined %}<think>{{ thought }}</think>{% endif %}{{ text }}
    {%- for call in m.tool_calls or [] -%}
      {%- set call = call.function or call -%}
      {%- set seen.names = seen.names + [call.name] -%}
      <call>{{ call.name }}{% for k, v in call.arguments.items() %}<k>{{ k }}</k><v>{{ v if v is string else v | tojson(ensure_ascii=true, sort_keys=true) }}</v>{% endfor %}</call>
    {%- endfor -%}
  {%- elif m.role == 'tool' -%}
    {%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}<|observation|>{%- endif -%}
    <response>{{ text }}</response>
  {%- else -%}
    <|{{ m.role | default('user') }}|>{{ text | trim }}
  {%- endif -%}
{%- endfor -%}
{{- seen.names | unique | sort | join(',') -}}
{%- if add_generation_prompt -%}<|assistant|>{{ '<think>' if enable_thinking | default(true) }}{%- endif -%})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace indexshare;
  static const ChatTemplate chat = *ChatTemplate::parse(kTemplate, "glm");
  const auto variables = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!variables.ok()) return 0;
  const auto text = chat.render(*variables);
  if (text.ok()) {
    const Json as_json = *text;
    if (!text->starts_with("<start>") || Json::parse(as_json.dump()) != as_json) std::abort();
  } else if (text.error().message.empty()) {
    std::abort();
  }
  return 0;
}
