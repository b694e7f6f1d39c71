#!/usr/bin/env python3
"""Writes jinja_cases.json: snippets of templates and what jinja2 3.1.6 makes of them.

    python3 -m venv venv && venv/bin/pip install jinja2==3.1.6
    venv/bin/python tests/text/make_jinja_cases.py > tests/text/jinja_cases.json

The environment is the one in which the transformers library renders chat templates. A snippet that fails there is
kept with the kind of its error: ours must fail too, in words of its own.
"""

import copy
import json
import re
import sys
from datetime import datetime

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """{% generation %}...{% endgeneration %}: prints its body from a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_body")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def make_environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
    return environment


VARIABLES = {
    "yes": True,
    "no": False,
    "nothing": None,
    "zero": 0,
    "three": 3,
    "minus": -7,
    "half": 0.5,
    "pi": 3.14159,
    "big": 1e22,
    "tiny": 2.5e-7,
    "blank": "",
    "word": "hello",
    "text": "  The quick Brown fox, it's \"here\"\n\tand <there> & gone  ",
    "accents": "Grüße, ĳsland ǆ ΣΑΣ ﬁn — 日本語 🙂",
    "numeral": "42",
    "lines": "one\ntwo\r\nthree\n\nfive\x0bsix\u2028seven",
    "empty_list": [],
    "numbers": [3, 1, 2, 10, 2],
    "mixed": [1, "two", None, 3.5, True, [4, 5]],
    "words": ["pear", "Apple", "fig", "apple", "Fig"],
    "empty_dict": {},
    "point": {"x": 1, "y": 2, "items": "shadowed", "1": "one"},
    "people": [
        {"name": "Ada", "age": 36, "city": {"name": "London"}},
        {"name": "bob", "age": 25, "city": {"name": "paris"}},
        {"name": "Cy", "age": 36, "city": {"name": "Paris"}},
        {"name": "dee", "city": {"name": "london"}},
    ],
    "nested": {"a": [{"b": {"c": [10, 20, 30]}}], "q": "it's", "d": 'say "hi"', "both": "'\""},
    "tree": [{"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": 4, "kids": []}]}]}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "<think>hm</think>Hello"},
        {"role": "user", "content": [{"type": "text", "text": "Bye"}, {"type": "image"}]},
    ],
}

# Values that every test and every filter without arguments meets.
SUBJECTS = [
    "yes", "no", "nothing", "zero", "three", "minus", "half", "big", "blank", "word", "text", "accents", "numeral",
    "empty_list", "numbers", "mixed", "words", "empty_dict", "point", "people", "missing", "(1, 'a')", "range(4)",
    "point.items()", "point.keys()", "point.values()", "namespace(a=1)", "word.upper", "words|map('upper')",
]

TESTS = [
    "boolean", "callable", "defined", "escaped", "even", "false", "float", "integer", "iterable", "lower", "mapping",
    "none", "number", "odd", "sequence", "string", "true", "undefined", "upper", "filter", "test",
    "divisibleby 3", "eq 3", "equalto('hello')", "== 0.5", "ne none", "!= true", "gt 2", "greaterthan 2", "> 'a'",
    "ge 3", ">= 3", "lt 3", "lessthan 0", "< 0", "le 3", "<= 'word'", "in [3, 'hello', none, false]", "in 'hello world'",
    "sameas true", "sameas none",
]

FILTERS = [
    "abs", "capitalize", "count", "default('D')", "d('D', true)", "dictsort", "e", "escape", "filesizeformat", "first",
    "float", "float('F')", "forceescape", "indent", "int", "int('I')", "items|list", "join", "join('-')", "last",
    "length", "list", "lower", "max", "min", "reverse|list", "round", "round(1)", "safe", "sort", "string",
    "sum", "title", "tojson", "trim", "truncate(9)", "unique|list", "upper", "urlencode", "wordcount", "xmlattr",
    "select|list", "reject|list", "batch(2)|list", "slice(2)|list", "center(12)", "format", "replace('e', 'E')",
    "map('string')|list", "first|string", "list|tojson",
]

OPAQUE = ["{{ (%s)|wordcount }}" % subject for subject in ("word.upper", "words|map('upper')")]

# Ours ends at 64 bits.
BEYOND = ["{{ (big)|int }}", "{{ (big)|int('I') }}"]

EXPRESSIONS = r"""
1 + 2 * 3 ## (1 + 2) * 3 ## 2 ** 3 ** 2 ## -2 ** 2 ## 2 ** -1 ## 0 ** 0 ## 0 ** -1 ## 7 // 2 ## -7 // 2 ## 7 // -2
7 % 3 ## -7 % 3 ## 7 % -3 ## 7.5 % 2 ## -7.5 % 2 ## 7.5 // 2 ## -7.5 // 2 ## 1 / 2 ## 4 / 2 ## 1 / 0 ## 1 // 0
1 % 0 ## 1.0 / 0 ## 1.5 % 0 ## 1.5 // 0 ## 2 + 1.5 ## 3 - 5 ## 1 - 0.9 ## 0.1 + 0.2 ## 1e3 ## 1e16 ## 1.5e300 * 1e10
1e308 * 10 ## -1e308 * 10 ## 1e-5 ## 0.0001 ## 123456789.125 ## 1e22 ## 100000000000000000.0 ## 12_345 ## 1_0.5_0
0x1F ## 0b101 ## 0o17 ## 0xff_ff ## 00 ## 9223372036854775807 ## -9223372036854775807 ## true + true ## true * 3
+ 3 ## - - 3 ## +true ## -false ## -'a' ## 'a' + 'b' ## 'a' + 1 ## 1 + 'a' ## 'ab' * 3 ## 3 * 'ab' ## 'ab' * -1
'ab' * 1.5 ## [1, 2] + [3] ## [1] * 3 ## (1, 2) + (3,) ## [1] + (2,) ## (1,) * 2 ## none + 1 ## missing + 1
1 + missing ## missing - missing ## missing * 2 ## -missing ## {} + {} ## 'a' - 'b' ## 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1]
missing ~ 'x' ## 1 ~ 2 + 3 ## 'a' 'b' "c" ## 'tab\tnew\nline' ## 'quote\'s' ## "dq\"s" ## 'uni\u00e9\x41\101\U0001f600'
'back\\slash' ## 'unknown\q' ## 'bad\xzz' ## 'é\é' ## 'line\
joined' ## '\0' ## 1 < 2 < 3 ## 1 < 3 < 2 ## 1 == 1.0 ## true == 1 ## 'a' < 'b' ## 'Z' < 'a' ## [1, 2] < [1, 3] ## (1,) < (1, 0)
[1] < (1,) ## 1 < 'a' ## none < 1 ## missing < 1 ## missing == missing ## missing == none ## missing != 1 ## none == none
{'a': 1} == {'a': 1.0} ## {'a': 1, 'b': 2} == {'b': 2, 'a': 1} ## [1, [2]] == [1, [2]] ## (1, 2) == [1, 2] ## 1 != 2 == true
1 in [1.0] ## 'ell' in 'hello' ## '' in '' ## 1 in 'abc' ## 'x' in point ## 'z' not in point ## 1 in point ## 2 in range(0, 5, 2)
3 in range(0, 5, 2) ## 2.0 in range(3) ## none in [none] ## 1 in none ## 1 in missing ## missing in 'a' ## [1] in {} ## 'a' in (1, 'a')
('x', 1) in point.items() ## 1 in point.values() ## not 1 ## not [] ## not missing ## not not 'a' ## 1 and 2 ## 0 and 2
'' or 'x' ## 0 or none ## none or false ## 1 or missing.x ## 0 and missing.x ## not 1 == 2 ## 1 if yes else 2 ## 1 if no else 2
1 if no ## (1 if no) is defined ## 1 if no else 2 if no else 3 ## 'a' if missing else 'b' ## [1, 2, 3] ## [] ## [1,] ## () ## (1,)
(1) ## 1, 2 ## 1, ## {} ## {'a': 1} ## {'a': 1,} ## {1: 2, none: 3, true: 4, (1, 2): 5} ## {'a': 1, 'a': 2} ## {[1]: 2} ## {1: 'a', 1.0: 'b'}
[true, none, 1.5, 'x', "it's", '"', '\n', 'é'] ## ('a', [1, {'k': (2,)}]) ## point ## mixed ## nested ## words ## accents ## text
{'a': missing} ## [missing] ## none ## true ## None ## True ## False ## pi ## big ## tiny ## 1.0 ## -0.0 ## 1e15 ## 5e-324
word[0] ## word[-1] ## word[10] ## word[1:3] ## word[:2] ## word[2:] ## word[::-1] ## word[::2] ## word[-3:-1] ## word[5:1] ## word[3:0:-1]
word[100:] ## word[:-100] ## word[::0] ## word['a'] ## word[1.0] ## word[none:2] ## word[true] ## accents[0] ## accents[2:5] ## accents[-1]
accents[::-1] ## numbers[0] ## numbers[-1] ## numbers[99] ## numbers[1:3] ## numbers[::-1] ## numbers[::-2] ## numbers['x'] ## numbers.0
numbers.0.5 ## nested.a.0.b.c.1 ## nested['a'][0]['b'].c[2] ## nested.a[0].b.c[-1:] ## point.x ## point['x'] ## point.missing
point['missing'] ## point.missing.deeper ## point['1'] ## point[1] ## point.items ## point['items'] ## point.keys() | list
missing.x ## missing['x'] ## missing[0] ## missing() ## missing[1:] ## none.x ## none['x'] ## none[0] ## (1).x ## 3[0] ## three.x ## word.nope
nothing[1:] ## three[1:] ## point[1:2] ## (1, 2, 3)[1:] ## range(10)[2:8:2] ## range(10)[-1] ## range(10)[10] ## range(3) ## range(1, 4) ## range(5, 0, -2)
range(0) | list ## range(2, 8, 3) | list ## range(1, 2, 0) ## range('a') ## range() ## range(1, 2, 3, 4) ## range(100001) ## range(100000) | length
range(3) == range(0, 3) ## range(5)[::-1] | list ## range(10, 0, -3)[1:] | list ## range(4) | sum ## range(true) | list ## range(1.5)
dict(a=1, b='x') ## dict() ## dict([('a', 1), ('b', 2)]) ## dict({'a': 1}, b=2) ## dict([1]) ## dict(**{'k': 1}) ## namespace(a=1).a
namespace(a=1).b ## namespace({'x': 1}).x ## namespace(a=1)['a'] ## namespace(a=[1], b='s') ## cycler('a', 'b').next() ## cycler('a').current
cycler() ## joiner()() ## joiner('|').sep ## raise_exception('no') ## strftime_now('%%') ## strftime_now('') ## strftime_now('%Y') | length
point.__class__ ## point.__class__.x ## word._private ## word.__len__() ## numbers.append(1) ## numbers.append is defined ## point.update({}) ## point.pop('x')
numbers.sort() ## numbers['append'] ## word.upper() ## word['upper']() ## word.upper is callable ## word.nope() ## point.get('x') ## point.get('z')
point.get('z', 5) ## point.get() ## point.get([1]) ## point.items() ## point.keys() ## point.values() ## point.items() | list ## point.items() | length
point.items()[0] ## point.keys() | first ## point.copy() ## empty_dict.items() ## numbers.index(2) ## numbers.index(99) ## numbers.index(2, 3)
numbers.count(2) ## numbers.copy() ## (1, 2, 1).count(1) ## (1, 2).index(2) ## (1, 2).copy() ## people[0].city.name ## people[3].age ## people[3].age.x
word is defined and missing is not defined ## missing is undefined ## word is not string ## 3 is divisibleby 3 ## 3 is divisibleby(2) ## 4 is divisibleby 0
3 is not even ## word is string and not word is none ## [1] is iterable ## word is nosuchtest ## word | nosuchfilter ## (word | nosuchfilter) if no else 'ok'
'ok' if yes else (word is nosuchtest) ## 'upper' is filter ## 'nope' is filter ## 'even' is test ## 'nope' is test ## 1 is sameas 1 ## 1 is sameas true
word is sameas word ## 5 is in [5] ## 5 is not in [5] ## 1 is eq(1) ## 1 is eq ## 1 is eq(1, 2) ## 1 is defined(1) ## 'ABC' is upper ## 'aBc' is lower ## '12' is lower
'é' is lower ## 'ǅ' is upper ## (1, 2) is sequence ## range(3) is sequence ## point.items() is sequence ## 1 is number ## true is number ## true is integer
-1 | abs ## -1.5 | abs ## true | abs ## 'a' | abs ## 1 if 1 is odd else 2 ## -3 is odd ## 2.0 is even ## 'a' is odd ## missing is odd ## missing | length ## missing | list ## missing | upper
'%s and %s' % ('a', 1) ## '%s' % 'x' ## '%s' % none ## '%s %s' % ('a',) ## '%s' % ('a', 'b') ## '%d' % 3.9 ## '%d' % 'x' ## '%5d|' % 42 ## '%-5d|' % 42 ## '%05d' % 42
'%+d' % 42 ## '% d' % 42 ## '%x' % 255 ## '%X' % 255 ## '%#x' % 255 ## '%o' % 8 ## '%#o' % 8 ## '%e' % 12345.678 ## '%.2e' % 0 ## '%f' % 1.5 ## '%.0f' % 2.5 ## '%.1f' % 0.25
'%10.3f|' % pi ## '%-10.2f|' % pi ## '%010.2f|' % -pi ## '%g' % 1e10 ## '%g' % 0.0001 ## '%.3g' % 1234567 ## '%G' % 1e-10 ## '%c' % 65 ## '%c' % 'x' ## '%c' % 'xy' ## '%r' % "it's"
'%a' % 'é' ## '%%' % () ## '%' % () ## '%(a)s-%(b)d' % {'a': 'x', 'b': 2} ## '%(z)s' % {'a': 1} ## '%(a)s' % 1 ## '%s' % {'a': 1} ## '%s' % [1, 2] ## '%z' % 1 ## '%*d' % (6, 42)
'%.*f' % (2, pi) ## '%-*d|' % (6, 42) ## '%5s|%-5s|' % ('a', 'b') ## '%.2s' % 'abc' ## '%s' % () ## 'x' % 1 ## 'x' % [] ## 'x' % {} ## 'x' % () ## '%s' % missing ## '%d' % missing
'%d' % true ## '%s' % true ## '%5.1f%%' % 99.55 ## '%i' % 7 ## '%u' % 7 ## '%.3d' % 7 ## '%+.3d' % -7 ## '%#.3x' % 7 ## '%ld' % 3 ## '%s' % ('é',) ## '%3s|' % 'é' ## '%+s' % 'a'
'{} {}'.format('a', 1) ## '{0} {1} {0}'.format('a', 'b') ## '{} {0}'.format(1) ## '{x}'.format(x=5) ## '{x}'.format(y=5) ## '{}'.format() ## '{{}}'.format() ## '{'.format() ## '}'.format()
'{0.x}'.format(point) ## '{0[x]}'.format(point) ## '{0[1]}'.format(words) ## '{0[y]}'.format(words) ## '{!r}'.format("it's") ## '{!s:>4}|'.format(7) ## '{!a}'.format('é') ## '{!z}'.format(1)
'{:5}|'.format('ab') ## '{:>5}|'.format('ab') ## '{:^5}|'.format('ab') ## '{:*^7}|'.format('ab') ## '{:.2}|'.format('abc') ## '{:5}|'.format(3) ## '{:<5}|'.format(3) ## '{:05}|'.format(3)
'{:+}'.format(3) ## '{: }'.format(3) ## '{:x}'.format(255) ## '{:#x}'.format(255) ## '{:b}'.format(5) ## '{:#b}'.format(5) ## '{:o}'.format(8) ## '{:c}'.format(65) ## '{:,}'.format(1234567)
'{:_}'.format(1234567) ## '{:,.2f}'.format(1234567.891) ## '{:.2f}'.format(3.14159) ## '{:8.2f}|'.format(3.14159) ## '{:<8.2f}|'.format(3.14159) ## '{:08.2f}|'.format(-3.14159) ## '{:e}'.format(12345.678)
'{:.3g}'.format(1234567) ## '{:g}'.format(0.5) ## '{:%}'.format(0.25) ## '{:.1%}'.format(0.256) ## '{:.3}'.format(3.14159) ## '{:.3}'.format(1234567.0) ## '{:.1}'.format(1.0) ## '{}'.format(1.0) ## '{:10}|'.format(1.5)
'{:d}'.format(3.5) ## '{:s}'.format(3) ## '{:d}'.format('a') ## '{:f}'.format('a') ## '{:.2}'.format(3) ## '{:5}'.format(none) ## '{:}'.format(none) ## '{:5}'.format([1]) ## '{:{}}|'.format('a', 4) ## '{:{w}.{p}f}'.format(pi, w=8, p=2)
'{:5}|'.format(true) ## '{}'.format(true) ## '{:d}'.format(true) ## '{:=+6}'.format(42) ## '{:>06}'.format(42) ## '{:0>6}'.format('x') ## '{a[b]}'.format(a={'b': 1}) ## '{}'.format(missing) ## '{0.missing}'.format(point) ## '{x}'.format_map({'x': 1})
'{:012,}'.format(1234567) ## '{:+.1f}'.format(-0.04) ## '{:#.3g}'.format(1.0) ## '{:X}'.format(-255) ## '{:#010b}'.format(5) ## '{0}{1}'.format('a') ## '{:!}'.format(1) ## '{:08}'.format('ab')
'a,b,,c'.split(',') ## 'a,b,,c'.split(',', 1) ## 'a,b,,c'.rsplit(',', 1) ## ' a  b '.split() ## ' a  b  c '.split(none, 1) ## ' a  b  c '.rsplit(none, 1) ## ' a b '.split(' ') ## ''.split() ## ''.split(',') ## 'abc'.split('')
'aaa'.rsplit('aa', 1) ## 'a1b2'.split('1', maxsplit=1) ## 'a b'.split(sep=' ') ## 'a b'.split(1) ## lines.splitlines() ## lines.splitlines(true) ## ''.splitlines() ## 'a\n'.splitlines() ## 'a\r\rb'.splitlines(keepends=true)
text.strip() ## text.lstrip() ## text.rstrip() ## 'xxhixx'.strip('x') ## 'abcba'.strip('ab') ## 'abc'.lstrip('ba') ## 'abc'.rstrip('cb') ## 'abc'.strip('') ## 'abc'.strip(none) ## '\u00a0\u3000x\u2003'.strip() ## '\x1cx\x85'.strip() ## '\u200bx'.strip()
'hello'.startswith('he') ## 'hello'.startswith(('x', 'he')) ## 'hello'.startswith('l', 2) ## 'hello'.startswith('l', 2, 2) ## 'hello'.startswith('') ## 'hello'.startswith('', 9) ## 'hello'.startswith(1) ## 'hello'.startswith(['he'])
'hello'.endswith('lo') ## 'hello'.endswith(('x', 'lo')) ## 'hello'.endswith('l', 0, 4) ## 'hello'.endswith('') ## 'hello'.find('l') ## 'hello'.rfind('l') ## 'hello'.find('z') ## 'hello'.find('l', 3) ## 'hello'.find('l', -2) ## 'hello'.find('', 5)
'hello'.find('', 6) ## 'hello'.index('l') ## 'hello'.index('z') ## 'hello'.rindex('l') ## 'hello'.rindex('z') ## 'größe'.find('e') ## 'größe'.rfind('ö') ## 'hello'.count('l') ## 'aaaa'.count('aa') ## 'abc'.count('') ## 'hello'.count('l', 3) ## 'é'.count('')
'hello'.replace('l', 'L') ## 'hello'.replace('l', 'L', 1) ## 'abc'.replace('', '-') ## 'abc'.replace('', '-', 2) ## 'abc'.replace('z', 'y') ## 'aaa'.replace('a', '', 2) ## 'a'.replace('a', 1) ## 'aéa'.replace('', '.') ## 'abc'.replace('b', 'x', 0)
', '.join(words) ## ''.join([]) ## ', '.join([1]) ## '-'.join('abc') ## '-'.join(point) ## '-'.join(words | map('upper')) ## ','.join(none) ## 'hello'.upper() ## 'ß'.upper() ## 'ŉ ﬁ ΐ'.upper() ## 'İI'.lower() ## 'ΑΣ ΑΣΑ Σ ΑΣ.'.lower()
'hello wORLD'.capitalize() ## 'ǆ ß'.capitalize() ## "it's a dog-day".title() ## "they're ﬁne ǆ".title() ## 'Hello'.swapcase() ## 'ßİ'.swapcase() ## 'Straße'.casefold() ## 'ﬁ'.casefold() ## 'abc'.center(7) ## 'abc'.center(8, '*') ## 'ab'.center(5, '*') ## 'abc'.center(2)
'abc'.ljust(5, '.') ## 'abc'.rjust(5, '.') ## 'abc'.ljust(5, 'xx') ## '42'.zfill(5) ## '-42'.zfill(5) ## '+4'.zfill(1) ## ''.zfill(2) ## 'a\tb'.expandtabs() ## 'a\tb\n\tc'.expandtabs(4) ## 'a\tb'.expandtabs(0) ## 'k=v=w'.partition('=') ## 'k=v=w'.rpartition('=')
'kv'.partition('=') ## 'kv'.rpartition('=') ## 'kv'.partition('') ## 'prefix-x'.removeprefix('prefix-') ## 'x.py'.removesuffix('.py') ## 'x'.removeprefix('') ## 'x'.removesuffix('') ## '123'.isdigit() ## '²'.isdigit() ## '²'.isdecimal() ## '½'.isnumeric() ## '五'.isnumeric() ## '٣'.isdecimal()
''.isdigit() ## 'abc'.isalpha() ## 'abé'.isalpha() ## 'ab1'.isalpha() ## 'ab1'.isalnum() ## ' \n'.isspace() ## ''.isspace() ## 'abc'.islower() ## 'ABC'.isupper() ## 'A1'.isupper() ## '1'.isupper() ## 'Ab Cd'.istitle() ## 'Ab cd'.istitle() ## 'a_1'.isidentifier() ## '1a'.isidentifier()
'abc'.isascii() ## 'é'.isascii() ## ''.isascii() ## 'a\n'.isprintable() ## ''.isprintable() ## 'abc'.upper(1) ## 'abc'.strip(1) ## 'a'.join() ## 'abc'.isdigit() is false ## 'x'.__add__('y') ## '\u200b\xad\u2028é🙂' | list ## ['\u200b\xad\u2028', '\x7f', '\ufeff']
word | upper | lower | capitalize ## 'HELLO world-foo (bar) [baz' | title ## 'ǆ ßx' | title ## word | replace('l', 'L') ## word | replace('l', 'L', 1) ## 12321 | replace(2, 'x') ## word | replace('', '-') ## word | trim('ho') ## '  x ' | trim ## 123 | trim
words | join(', ') ## numbers | join('|') ## people | join(',', attribute='name') ## people | map(attribute='name') | join(' ') ## people | map(attribute='age') | list ## people | map(attribute='age', default=0) | list ## people | map(attribute='city.name') | list
people | map('length') | list ## words | map('replace', 'p', 'P') | list ## numbers | map('string') | join ## numbers | map('nope') | list ## numbers | map() | list ## people | map(attribute='a', bad=1) | list ## numbers | select('odd') | list ## numbers | select('gt', 2) | list
numbers | reject('odd') | list ## mixed | select | list ## mixed | reject | list ## numbers | select('nope') | list ## people | selectattr('age') | map(attribute='name') | list ## people | selectattr('age', 'defined') | list | length
people | selectattr('age', 'eq', 36) | map(attribute='name') | list ## people | rejectattr('age', 'eq', 36) | map(attribute='name') | list ## people | selectattr('city.name', 'in', ['Paris', 'London']) | list | length ## people | selectattr() | list
words | sort ## words | sort(case_sensitive=true) ## words | sort(reverse=true) ## words | sort(true) ## numbers | sort ## mixed | sort ## people | sort(attribute='age') ## people[:3] | sort(attribute='age') | map(attribute='name') | list
people[:3] | sort(attribute='age,name', reverse=true) | map(attribute='name') | list ## people | sort(attribute='name') | map(attribute='name') | list ## word | sort ## point | sort ## words | unique | list ## words | unique(true) | list ## people | unique(attribute='city.name') | map(attribute='name') | list
[[1], [1]] | unique | list ## [1, 1.0, true, '1'] | unique | list ## words | min ## words | max ## words | max(case_sensitive=true) ## numbers | min ## numbers | max ## [] | min ## people[:3] | max(attribute='age') ## mixed | max ## people[:3] | min(attribute='age') | attr('name')
numbers | sum ## [] | sum ## [1.5, 2] | sum ## people[:3] | sum(attribute='age') ## [[1], [2]] | sum(start=[]) ## ['a'] | sum ## numbers | sum(start=10) ## numbers | first ## numbers | last ## [] | first ## [] | last ## word | first ## word | last ## point | first ## point | last
(numbers | select('odd')) | last ## (numbers | select('odd')) | first ## (numbers | select) | length ## (numbers | select)[0] ## numbers | reverse | list ## word | reverse ## accents | reverse ## point | reverse | list ## 5 | reverse ## numbers | reverse | length ## (numbers | select | reverse)
numbers | batch(2) | list ## numbers | batch(2, 'x') | list ## numbers | batch(0) | list ## numbers | slice(2) | list ## numbers | slice(3, 'x') | list ## numbers | slice(0) | list ## numbers | slice(-1) | list ## word | batch(2) | list ## people[:3] | groupby('age') | list
people | groupby('city.name') | map('first') | list ## people | groupby('city.name', case_sensitive=true) | map('first') | list ## people | groupby('age', default=1) | map(attribute='grouper') | list ## (people[:3] | groupby('age'))[0].list | length ## people | groupby('age') | list ## (people[:3] | groupby('age'))[0][0]
point | dictsort ## point | dictsort(reverse=true) ## {'b': 1, 'A': 2, 'a': 3} | dictsort ## {'b': 1, 'A': 2, 'a': 3} | dictsort(true) ## {'b': 2, 'a': 3, 'c': 1} | dictsort(by='value') ## {'b': 2} | dictsort(by='x') ## {1: 2, 'a': 3} | dictsort ## point | items | list ## missing | items | list ## [1] | items | list
point | length ## 5 | length ## none | length ## word | count ## 'a\nb\n\nc' | indent ## 'a\nb\n\nc' | indent(2, true) ## 'a\nb\n\nc' | indent(2, false, true) ## 'a\nb' | indent('> ') ## 'a\n' | indent(2) ## '' | indent(2, true) ## 5 | indent ## 'a\nb' | indent(width=1, first=true)
'foo bar baz qux' | truncate(9) ## 'foo bar baz qux' | truncate(9, true) ## 'foo bar baz qux' | truncate(11) ## 'foo bar baz qux' | truncate(11, false, '...', 0) ## 'foo bar' | truncate(2) ## 'foobarbazqux' | truncate(5, end='') ## 'ééééééééééééé' | truncate(5, true) ## 'abc' | truncate(length=10, leeway=0)
'3' | int ## '3.7' | int ## 'x' | int ## 'x' | int(9) ## ' 12 ' | int ## '1_000' | int ## '0x1f' | int ## '0x1f' | int(0, 16) ## '1f' | int(base=16) ## '0b11' | int(0, 0) ## '٣' | int ## '-5' | int ## '+5' | int ## '- 5' | int ## 3.9 | int ## -3.9 | int ## true | int ## none | int ## [1] | int ## '1e3' | int ## 'inf' | int ## '' | int('d')
'3' | float ## '3.5e2' | float ## 'x' | float ## 'x' | float(1.5) ## '.5' | float ## '5.' | float ## '.' | float ## 'inf' | float ## '-Infinity' | float ## 'nan' | float ## '1_0.5' | float ## '1__0' | float ## '1e400' | float ## '1e-400' | float ## true | float ## none | float ## ' 1.5\n' | float ## '0x10' | float
2.5 | round ## 3.5 | round ## -2.5 | round ## 2.675 | round(2) ## 1234.5 | round(-2) ## 42 | round ## 1250 | round(-2) ## 1350 | round(-2) ## -15 | round(-1) ## 2.1 | round(0, 'ceil') ## 2.9 | round(0, 'floor') ## 2.14159 | round(2, 'floor') ## 2.14159 | round(2, 'ceil') ## 42 | round(1, 'floor') ## 1.5 | round(0, 'x') ## 'a' | round
42.55 | round | int ## 1e300 | round(2) ## 0.5 | round ## 1.5 | round ## none | round ## missing | round ## 1000 | filesizeformat ## 1 | filesizeformat ## 999 | filesizeformat ## 1500000 | filesizeformat ## 1024 | filesizeformat(true) ## 1e30 | filesizeformat ## '2048' | filesizeformat(binary=true)
text | e ## text | escape | escape ## '<' | e ~ '<' ## ('<' | e) + '<' ## '<' + ('<' | safe) ## ('<%s>' | safe) % '&' ## ('<' | safe) * 2 ## ('<b>' | safe).upper() ## ('a' | safe).replace('a', '<') ## (', ' | safe).join(['<', '>' | safe]) ## ('<' | safe) is escaped ## ['<' | safe] ## '<' | safe | e ## '<' | safe | forceescape
['<' | e, '<'] | join(',') ## 5 | e ## none | e ## {'a': 1, 'b': none, 'c': '<'} | xmlattr ## {'a b': 1} | xmlattr ## {} | xmlattr ## {'a': 1} | xmlattr(false) ## 'a b/c?d=é&' | urlencode ## {'a b': 'c/d', 'e': 1} | urlencode ## [('a', 1)] | urlencode ## 5 | urlencode
point | tojson ## mixed | tojson ## nested | tojson ## accents | tojson ## accents | tojson(ensure_ascii=true) ## '</script>\u2028\x7f\x01"\\' | tojson ## '\x7f' | tojson(true) ## point | tojson(indent=2) ## nested | tojson(indent=1) ## [] | tojson(indent=2) ## {'a': []} | tojson(indent=2) ## [1, [2]] | tojson(indent=0) ## [1] | tojson(indent='\t') ## [1] | tojson(indent=-1)
point | tojson(separators=(',', ':')) ## point | tojson(indent=2, separators=(',', ':')) ## {'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true) ## {1: 2, 'a': 3} | tojson(sort_keys=true) ## {1: 2, none: 3, true: 4, 1.5: 5} | tojson ## {(1,): 2} | tojson ## missing | tojson ## [missing] | tojson ## (1, 2) | tojson ## 1e22 | tojson ## 1.0 | tojson ## tiny | tojson
range(3) | tojson ## point.items() | tojson ## namespace(a=1) | tojson ## 'x' | tojson(bad=1) ## [1, 2] | tojson(true, 2, ('; ', ' = '), true) ## 'inf' | float | tojson ## 'nan' | float | tojson ## true | tojson ## none | tojson ## {'k': true} | tojson ## people | tojson(indent=4) ## [1] | tojson(indent=true)
'%s-%s' | format('a', 'b') ## '%(x)s' | format(x=1) ## '%s' | format('a', x=1) ## '%d items' | format(3) ## 'a b_c d-e' | wordcount ## 'é à 日本' | wordcount ## '' | wordcount ## missing | default('x') ## none | default('x') ## none | default('x', true) ## '' | default('x', boolean=true) ## missing | default ## point.z | default(point.x)
missing.x | default('y') ## 0 | d(5, true) ## [1, 2] | attr('count') is callable ## point | attr('x') ## point | attr('items') is callable ## people[0] | attr('name') is undefined ## 3 | string ~ 'x' ## [1] | string ## none | string ## 'abc' | list ## point | list ## 5 | list ## (1, 2) | list ## word | center(11) ~ '|' ## 5 | center(3) ~ '|'
numbers | length > 3 ## numbers | sum / numbers | length ## -numbers | first ## - 5 | abs ## (-5) | abs ## 2 + 3 | string ## word | length + 1 ## 'a' ~ 'b' | upper ## not word | length == 5 ## word in words | join ## words | first | upper ~ '!' ## yes and word | upper or 'x' ## {'a': 1}.a ## [1, 2][0] ## 'abc'[1] ## (1, 2)[1] ## 'abc'.upper()[0] ## [[1, 2], [3]][0][1]
'a'.b ## 'a' 'b'.upper() ## 1.5.x ## 1 .x ## [x for x in y] ## lambda ## a b ## 1 + ## (1 ## [1 ## {1: } ## {1} ## 'unclosed ## | upper ## word | ## word is ## word is not ## word. ## word.'x' ## word[ ## word() ## f(a=1, 2) ## f(*a, *b) ## f(**a, b) ## f(a=1, a=2) ## 1 = 2 ## a := 1 ## $ ## ! ## @ ## a ? b ## & ## 1.2.3
012 ## 1__0 ## 0x ## 1e ## 1.e5 ## .5 ## é ## é.x ## true.x ## none() ## 'x'() ## [](1) ## word is string is true ## 1 not 2 ## not ## 1 if ## 1 if 2 else ## 1 in ## (,) ## [,] ## {,} ## f(,) ## a[1,2] ## a[] ## point['x', 'y'] ## a[1:2:3:4] ## {'a' 1} ## a | b.c ## 1 is a.b ## a..b ## a.1b ## 1 ~ ~ 2 ## ** 2 ## // 2
dict(a=1)['a'] ## dict(a=1).a ## [1, 2, 3].index(3) ## 'a=%s' % 1 + 'b' ## 'x' * 2 ~ 'y' ## 1 < 2 and 3 > 2 ## 1 == 1 in [true] ## 'a' in 'abc' in ['abc'] ## 2 * 3 % 4 ## 10 - 2 - 3 ## 2 ** 2 ** 0 ## 8 / 2 / 2 ## not 1 in [2] ## 1 is not none and 2 ## word[1:][0] ## words[-2:][0][::-1] ## numbers[three] ## numbers[-three:] ## point[word] ## {word: 1}
""".strip("\n")

# Statements and whole templates, separated by lines of "=".
TEMPLATES = r"""
{% if yes %}A{% elif no %}B{% else %}C{% endif %}
=
{% if no %}A{% elif yes %}B{% else %}C{% endif %}
=
{% if missing %}A{% elif none %}B{% elif [] %}C{% else %}D{% endif %}
=
{% if yes: %}colon{% endif %}
=
{% if yes %}open
=
{% if %}x{% endif %}
=
{% endif %}
=
{% else %}
=
{% nosuchtag %}
=
{% for x in numbers %}{{ x }},{% endfor %}
=
{% for x in numbers %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ' ' if not loop.last }}{% endfor %}
=
{% for x in words %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }} {% endfor %}
=
{% for x in words %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% endfor %}
=
{% for x in words %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }};{% endfor %}
=
{% for x in numbers %}{{ loop.cycle('a', 'b') }}{% endfor %}
=
{% for x in numbers %}{{ loop.cycle() }}{% endfor %}
=
{% for x in [1, 1, 2, 2, 1] %}{{ x if loop.changed(x) else '.' }}{% endfor %}
=
{% for x in numbers if x is odd %}{{ loop.index }}:{{ x }} of {{ loop.length }} {{ loop.last }};{% endfor %}
=
{% for x in numbers if x > 100 %}{{ x }}{% else %}none{% endfor %}
=
{% for x in [] %}{{ x }}{% else %}empty{% endfor %}
=
{% for x in missing %}{{ x }}{% else %}empty{% endfor %}
=
{% for x in nothing %}{{ x }}{% endfor %}
=
{% for x in 5 %}{{ x }}{% endfor %}
=
{% for c in accents %}[{{ c }}]{% endfor %}
=
{% for k in point %}{{ k }}{% endfor %}
=
{% for k, v in point.items() %}{{ k }}={{ v }};{% endfor %}
=
{% for k, v in point|dictsort %}{{ k }}={{ v }};{% endfor %}
=
{% for a, b in [[1, 2], (3, 4), 'xy'] %}{{ a }}-{{ b }} {% endfor %}
=
{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}
=
{% for a, b in [1] %}{{ a }}{% endfor %}
=
{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}
=
{% for (a, b) in [[1, 2]] %}{{ a }}{{ b }}{% endfor %}
=
{% for a, in [[1]] %}{{ a }}{% endfor %}
=
{% for x in 1, 2, 3 %}{{ x }}{% endfor %}
=
{% for x in numbers %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}
=
{% for x in numbers %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}
=
{% for x in numbers %}{% for y in numbers %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}
=
{% for x in [1] %}{% break %}{% else %}else after break{% endfor %}
=
{% for x in [1] %}{% continue %}{% else %}else after continue{% endfor %}
=
{% for x in [1, 2] %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% else %}else{% endfor %}
=
{% for x in [1] %}{% for y in [] %}{% else %}{% break %}{% endfor %}{{ x }}{% endfor %}
=
{% break %}
=
{% if yes %}{% continue %}{% endif %}
=
{% for x in numbers %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
=
{% for x in numbers %}{% set y %}{% break %}{% endset %}{{ y }}{% endfor %}done
=
{% for x in [1,2] %}{% filter upper %}a{% if x == 1 %}{% continue %}{% endif %}b{% endfilter %}{% endfor %}
=
{% for x in tree recursive %}{{ x.v }}{% if x.kids %}({{ loop(x.kids) }}){% endif %}{% endfor %}
=
{% for x in tree recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ x.v }}{{ loop(x.kids) }}{% endfor %}
=
{% for x in tree recursive %}{{ x.v }}{{ loop(x.kids) }}{% else %}.{% endfor %}
=
{% for x in numbers %}{{ loop(x) }}{% endfor %}
=
{% for x in numbers %}{{ loop }}{% endfor %}
=
{% for x in numbers %}{{ loop|length }}{{ loop is iterable }}{{ loop.nope }}{% endfor %}
=
{{ loop }}
=
{% for x in numbers %}{% set loop = 1 %}{% endfor %}
=
{% for loop in numbers %}{% endfor %}
=
{% for x in numbers if loop.index > 1 %}{{ x }}{% endfor %}
=
{% for x in [1, 2] %}{% for y in [3, 4] if loop.first %}{{ x }}{{ y }};{% endfor %}{% endfor %}
=
{% for x in numbers if missing.y %}{{ x }}{% endfor %}
=
{% set ns = namespace(limit=1) %}{% for x in [1, 2, 3] if ns.limit %}{{ x }}{% set ns.limit = 0 %}{% endfor %}
=
{% set ns = namespace(limit=1) %}{% for x in [1, 2, 3] if ns.limit %}{{ x }}{{ loop.last }}{% set ns.limit = 0 %}{% endfor %}
=
{% for x in numbers|select('odd') %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{% endfor %}
=
{% set g = numbers|select('odd') %}{{ g|list }}{{ g|list }}
=
{% set g = numbers|map('string') %}{{ g|first }}{{ g|first }}{{ g|join }}
=
{% for x in range(3) %}{% set y = x %}{% endfor %}{{ y }}
=
{% set y = 9 %}{% for x in range(3) %}{{ y }}{% set y = x %}{{ y }}{% endfor %}{{ y }}
=
{% set x = 5 %}{% for x in [1] %}{{ x }}{% endfor %}{{ x }}
=
{% set ns = namespace(n=0) %}{% for x in numbers %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}
=
{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}
=
{% set ns = namespace(a=1) %}{% set ns.self = 2 %}{{ ns }}
=
{% set point.x = 3 %}
=
{% set missing.x = 3 %}
=
{% set a, b = 1, 2 %}{{ a }}{{ b }}
=
{% set a, b = 'xy' %}{{ a }}{{ b }}
=
{% set a, b = [1] %}
=
{% set (a, b), c = (1, 2), 3 %}{{ a }}{{ b }}{{ c }}
=
{% set a = 1, 2 %}{{ a }}
=
{% set a, = [7] %}{{ a }}
=
{% set a %}body {{ word }}{% endset %}[{{ a }}]
=
{% set a | upper | replace('O', '0') %}hello {{ word }}{% endset %}{{ a }}
=
{% set a %}{% set b = 1 %}{{ b }}{% endset %}{{ a }}{{ b is defined }}
=
{% set ns = namespace() %}{% set ns.text %}x{% endset %}{{ ns.text }}
=
{% set true = 1 %}
=
{% set 1 = 1 %}
=
{% set a.b.c = 1 %}
=
{% set a %}{% endset %}{{ a == '' }}{{ a is string }}
=
{% set word = word ~ '!' %}{{ word }}
=
{% if yes %}{% set inner = 1 %}{% endif %}{{ inner }}
=
{% if no %}{% set word = 1 %}{% endif %}{{ word }}
=
{% if no %}{% set word = 1 %}{% else %}{{ word }}{% set word = 2 %}{% endif %}{{ word }}
=
{% for x in [1] %}{{ word }}{% endfor %}{% set word = 'later' %}{{ word }}
=
{{ word }}{% for x in [1] %}{{ word }}{% endfor %}{% set word = 'later' %}{{ word }}
=
{% macro m() %}{{ word }}{% endmacro %}{{ m() }}{% set word = 'later' %}{{ m() }}
=
{% for x in [1, 2] %}{% if x == 2 %}{{ word }}{% endif %}{% set word = x %}{{ word }}{% endfor %}
=
{% for x in [1] %}{% for y in [1] %}{{ word }}{% endfor %}{% set word = 'in' %}{{ word }}{% endfor %}{{ word }}
=
{% set fresh = 1 %}{% for x in [1] %}{{ fresh }}{% set fresh = 2 %}{{ fresh }}{% endfor %}{{ fresh }}
=
{% if no %}{% set a = 1 %}{% elif yes %}{{ word }}{% set word = 2 %}{% endif %}{{ word }}{{ a is defined }}
=
{% macro m(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m(1, 2, 3) }}
=
{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}|{{ m(1, 2) }}
=
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=1) }}
=
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
=
{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}
=
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m() }}
=
{% macro m(a, b=1) %}{{ a }}{{ b }}{{ varargs|join('+') }}{% for k, v in kwargs|dictsort %}{{ k }}:{{ v }}{% endfor %}{% endmacro %}{{ m(1, 2, 3, 4, z=5, y=6) }}
=
{% macro m(a=1, b) %}{% endmacro %}
=
{% macro m(a, a) %}{% endmacro %}{{ m(1) }}
=
{% macro outer() %}{% macro inner() %}in{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}{{ inner is defined }}
=
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
=
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}
=
{{ m() }}{% macro m() %}x{% endmacro %}
=
{% macro m(x) %}{{ x }}{% endmacro %}{{ m }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m is callable }}
=
{% macro m(x) %}[{{ caller() }}]{{ x }}{% endmacro %}{% call m(1) %}body {{ word }}{% endcall %}
=
{% macro m(items) %}{% for i in items %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(i) m(numbers) %}<{{ i }}>{% endcall %}
=
{% macro m() %}{{ caller(1, b=2) }}{% endmacro %}{% call(a, b, c=3) m() %}{{ a }}{{ b }}{{ c }}{% endcall %}
=
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
=
{% macro m() %}no caller{% endmacro %}{% call m() %}x{% endcall %}
=
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}
=
{% macro m(caller=none) %}{{ caller is none }}{% endmacro %}{{ m() }}
=
{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m(1) }}
=
{% call word %}x{% endcall %}
=
{% macro m() %}{% set x = 1 %}{{ x }}{% endmacro %}{{ m() }}{{ x is defined }}
=
{% set x = 0 %}{% macro m() %}{{ x }}{% set x = 1 %}{{ x }}{% endmacro %}{{ m() }}{{ m() }}{{ x }}
=
{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}
=
{% macro m(a) %}{{ a|upper }}{% endmacro %}{{ words|map('upper')|join }}{{ m('x') ~ m('y') }}{{ m('z')|length }}
=
{% macro m(x=missing.y) %}{{ x }}{% endmacro %}{{ m(1) }}{{ m() }}
=
{% macro m(x=x) %}{{ x }}{% endmacro %}{{ m() }}
=
{% macro m(*a) %}{% endmacro %}
=
{% set args = [1, 2] %}{% set kw = {'c': 3} %}{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*args, **kw) }}{{ m(0, *args) }}
=
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**{'a': 1}) }}{{ m(**{1: 2}) }}
=
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*5) }}
=
{% filter upper %}hello {{ word }}{% endfilter %}
=
{% filter replace('l', 'L')|title %}hello {{ word }}{% endfilter %}
=
{% filter nosuch %}x{% endfilter %}
=
{% filter upper %}{% set q = 1 %}{{ q }}{% endfilter %}{{ q is defined }}
=
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}
=
{% set a = 5 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
=
{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z is defined }}
=
{% with a %}{% endwith %}
=
{% generation %}assistant {{ word }}{% endgeneration %}
=
{% generation %}{% set z = 1 %}{{ z }}{% endgeneration %}{{ z is defined }}
=
{% for m in messages %}{% generation %}{{ loop.index }}{{ m.role }}{% endgeneration %}{% endfor %}
=
{% for m in messages %}{% generation %}{% break %}{% endgeneration %}{% endfor %}
=
{% print 1, 'a', word %}
=
{% raw %}{{ not }} {% parsed %} {# at all #}{% endraw %}
=
a {%- raw -%} {{ x }} {%- endraw -%} b
=
a
  {% raw %}
  {{ x }}
  {% endraw %}
b
=
a {%+ raw %} x {% endraw +%}
b
=
{% raw %}open
=
a{# comment #}b
=
a {#- comment -#} b
=
a
  {# comment #}
b
=
a
  {#+ comment +#}
b
=
{# open
=
{# {{ x }} {% if %} #}x
=
{#- a -#}{#- b -#} c
=
  {% if yes %}
    indented
  {% endif %}
end
=
  {%+ if yes %}
    kept
  {%+ endif %}
end
=
  {%- if yes -%}
    tight
  {%- endif -%}
end
=
  {% if yes +%}
    plus
  {% endif +%}
end
=
x  {% if yes %}y{% endif %}  z
=
x
{{ word }}
  {{ word }}
{{- word -}}
y
=
x  {{- ' a ' -}}  y
=
x {{+ 1 }} y {{ 2 +}} z
=
x {{+ 1 }} y
=
x {{-1 }} y
=
{{ '}}' }}{{ "{{" }}{{ '%}' }}
=
{{ {'a': {'b': 1}} }}{{ {'a': {}}['a'] }}
=
{{ {'a':{'b':1}}.a.b }}
=
{ { x } } { % y % } {#- z -#}
=
{
=
{{
=
{{ }}
=
{{ word
=
{{ word %}
=
{% if word }}x{% endif %}
=
{{ (word }}
=
{{ word) }}
=
{{ [word) }}
=
{% set x = {'a': 1} %}{{ x.a }}
=
line one
line two

=


leading
=
{% if yes %}

two blank lines

{% endif %}

=
{% for x in [1, 2] %}
{{ x }}
{% endfor %}
=
{% for x in [1, 2] -%}
  {{ x }}
{%- endfor %}
tail
=
{%- for x in [1, 2] %} {{ x }} {%- endfor -%}   tail
=
	{% if yes %}tab{% endif %}
	 {# c #}	x
=
{%if yes%}tight{%endif%}
=
{%   if   yes   %}wide{%   endif   %}
=
{{word}}{{  word  }}{{
word
}}
=
{{ word
   | upper
   | replace('L',
             'l') }}
=
{% if yes and
      word == 'hello' %}multi{% endif %}
=
{{ "a
b" }}
=
{% set x = 'a' -%}
   {{ x }}
=
{%- set x = 'a' %}
{{ x }}
=
{% extends 'x' %}
=
{% include 'x' %}
=
{% import 'x' as y %}
=
{% for m in messages %}{{ m.role }}: {% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}{{ part.text if part.type == 'text' else '[' ~ part.type ~ ']' }}{% endfor %}{% endif %}{{ '\n' }}{% endfor %}
=
{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else 'none' }}>{{ m['role'] }} {% endfor %}
=
{% for m in messages[::-1] %}{{ m.role[0] }}{% endfor %}
=
{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{{ rest|length }}
=
{{ messages[2].content.split('</think>')[-1].lstrip('\n') }}|{{ messages[2].content.split('</think>')[0].split('<think>')[-1] }}
=
{{ messages | selectattr('role', 'equalto', 'user') | list | length }}
=
{{ messages | map(attribute='role') | unique | list }}
=
{% set ns = namespace(found=false, last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{{ ns.found }} {{ ns.last }}
=
{% if messages[1].role != 'user' %}{{ raise_exception('order') }}{% endif %}ok
=
{% if messages[0].role != 'user' %}{{ raise_exception('Conversation must begin with user') }}{% endif %}
=
{{ 'x' if messages[9] is defined else 'y' }}{{ messages[9].role is defined }}
=
{{ messages[9] }}|{{ messages[0].nope }}|{{ messages[0]['nope'] }}
=
{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.role }}{{ ',' if not loop.last else '.' }}{% endfor %}
=
{% set c = cycler('x', 'y') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.current }}
=
{% set j = joiner('; ') %}{% for x in numbers %}{{ j() }}{{ x }}{% endfor %}
=
{% set x = [] %}{% for i in range(3) %}{% set x = x + [i] %}{% endfor %}{{ x }}
=
{% set ns = namespace(l=[]) %}{% for i in range(3) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l }}
=
{% set x = [1] %}{% set _ = x.append(2) %}{{ x }}
=
{% for city, people in people|groupby('city.name') %}{{ city }}:{{ people|map(attribute='name')|join(',') }};{% endfor %}
=
{% for g in people[:3]|groupby('age') %}{{ g.grouper }}={{ g.list|length }} {{ g[0] }};{% endfor %}
=
{% for row in numbers|batch(2, '-') %}{% for x in row %}{{ x }}{% endfor %}/{% endfor %}
=
{% for col in numbers|slice(2) %}{{ loop.index }}{{ col }}{% endfor %}
=
{% if 'a' is in 'abc' and 3 is not in numbers[1:] %}yes{% endif %}
=
{% if not missing is defined %}undefined{% endif %}
=
{% if word is defined and word is not none and word|length > 3 %}long{% endif %}
=
{% set x = 1 if yes else 2 %}{{ x }}
=
{% set x = yes and 'a' or 'b' %}{{ x }}
=
{% for i in range(2) %}{% for j in range(2) %}{{ loop.index }}{{ i }}{{ j }} {% endfor %}{{ loop.index }};{% endfor %}
=
{% for i in range(2) %}{% set outer = loop %}{% for j in range(2) %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}
=
{% if yes %}{{ word|nosuchfilter }}{% endif %}
=
{% if no %}{{ word|nosuchfilter }}{% endif %}ok
=
{% if no %}{{ word is nosuchtest }}{% endif %}ok
=
{% macro m() %}{{ word|nosuchfilter }}{% endmacro %}ok
=
{% if no %}{% for x in [1] %}{{ x|nosuchfilter }}{% endfor %}{% endif %}ok
=
{% set n = namespace() %}{% set n.n = n %}{{ n.n.n is defined }}
=
{% set n = namespace() %}{% set n.n = n %}{{ n }}
=
{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}
=
{{ 9223372036854775807 + 0 }}{{ lines|length }}{{ lines.splitlines()|length }}
""".strip("\n")


def snippets():
    for subject in SUBJECTS:
        for test in TESTS:
            yield "{{ (%s) is %s }}" % (subject, test)
        for name in FILTERS:
            yield "{{ (%s)|%s }}" % (subject, name)
    for expression in re.split(r" ## |\n(?!joined)", EXPRESSIONS):
        yield "{{ %s }}" % expression
    for template in TEMPLATES.split("\n=\n"):
        yield template
        if "\n" in template:
            yield template.replace("\n", "\r\n")
            yield template + "\n"


def outcome(environment, template):
    try:
        rendered = environment.from_string(template).render(**copy.deepcopy(VARIABLES))  # |indent extends a list in place
        rendered.encode()
        return {"rendered": rendered}
    except RecursionError:
        return {"error": "RecursionError"}
    except Exception as error:
        return {"error": type(error).__name__}


def main():
    assert jinja2.__version__ == "3.1.6", jinja2.__version__
    environment = make_environment()
    cases, seen = [], set()
    for template in snippets():
        result = outcome(environment, template)
        # Addresses differ from run to run, and so do the words in "<generator object sync_do_map at 0x...>".
        address = re.search(r"at.{1,3}0x[0-9a-f]{6}", result.get("rendered", ""), re.IGNORECASE)
        if template in seen or address or template in OPAQUE + BEYOND:
            continue
        seen.add(template)
        cases.append({"template": template, **result})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    variables = json.dumps(VARIABLES, ensure_ascii=False)
    sys.stdout.write('{"jinja2": "%s",\n"variables": %s,\n"cases": [\n%s\n]}\n' % (jinja2.__version__, variables, lines))


if __name__ == "__main__":
    main()
