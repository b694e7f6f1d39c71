"""Installs the tree, moves it elsewhere, and uses what it holds as others do."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

BUILD, CMAKE, CXX, NM = (os.environ[name] for name in ("BUILD", "CMAKE", "CXX", "NM"))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = "models/pocket"
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def output(*command, environment=None):
    """What a command that succeeds prints."""
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=200, env={**os.environ, **(environment or {})}, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        directory = pathlib.Path(temporary.name)
        output(CMAKE, "--install", BUILD, "--prefix", directory / "first")
        cls.prefix = directory / "second place"  # the tree may be moved, and to a path that needs quotes
        (directory / "first").rename(cls.prefix)
        cls.files = {path.relative_to(cls.prefix).as_posix() for path in cls.prefix.rglob("*") if not path.is_dir()}
        cls.library = next(cls.prefix.glob("lib*/**/libindexshare.so"))
        cls.work = directory

    def answer(self, program):
        """What an example says, which finds the library where it was installed."""
        return output(program, MODEL, environment={"LD_LIBRARY_PATH": str(self.library.parent)})

    def answer_of_the_program(self):
        return output(self.prefix / "bin/indexshare", "run", MODEL, "What is a parrakeet?", "--quiet",
                      "--temperature", "1.5", "--seed", "4")

    def test_it_holds_the_program_the_library_the_public_headers_and_licences_alone(self):
        library = self.library.parent.relative_to(self.prefix).as_posix()
        headers = {path.relative_to(ROOT).as_posix() for path in (ROOT / "include/indexshare").glob("*.h")}
        names = ["libindexshare.so", "pkgconfig/indexshare.pc", "cmake/indexshare/indexshare-config.cmake",
                 "cmake/indexshare/indexshare-config-version.cmake"]
        rest = {file for file in self.files - headers if not re.search(r"/libindexshare\.so\.\d|-config-\w+\.cmake$", file)}
        licences = "share/doc/indexshare/xgrammar-licences.txt"
        self.assertEqual(rest, {"bin/indexshare", licences, *(f"{library}/{name}" for name in names[:3])})
        for holder in ("XGrammar", "Cybozu"):
            self.assertIn(holder, (self.prefix / licences).read_text(encoding="utf-8"))
        self.assertLessEqual(headers, self.files)
        self.assertLessEqual({f"{library}/{name}" for name in names}, self.files)

    def test_nothing_in_it_names_where_it_was_installed_or_built(self):
        for name in self.files:
            if name.endswith((".cmake", ".pc", ".h")):
                text = (self.prefix / name).read_text(encoding="utf-8")
                for place in (BUILD, str(ROOT), str(self.work)):
                    self.assertNotIn(place, text, name)

    def test_the_library_exports_its_interface_alone(self):
        symbols = output(NM, "-DC", "--defined-only", self.library).splitlines()
        names = [line.split(maxsplit=2)[2].split("@")[0] for line in symbols if " A " not in line]
        classes = [name for name in names if name.startswith("indexshare::")]
        for name in classes:
            self.assertRegex(name, r"^indexshare::(Engine|Stream)::(?!Impl|State|runner|run_exclusive)")
            self.assertNotIn("ModelRunner", name)
        for member in ("Engine::load(", "Engine::generate(", "Engine::save_session(", "Stream::next(", "Stream::~Stream("):
            self.assertTrue(any(name.startswith("indexshare::" + member) for name in classes), member)
        header = (self.prefix / "include/indexshare/indexshare.h").read_text(encoding="utf-8")
        functions = set(re.findall(r"^INDEXSHARE_API [^;(]*?\b(indexshare_\w+)\(", header, re.MULTILINE))
        self.assertGreater(len(functions), 20)
        self.assertEqual(set(names) - set(classes), functions)

    def test_each_header_stands_alone(self):
        for header in sorted((self.prefix / "include/indexshare").glob("*.h")):
            source = self.work / "one.cc"
            source.write_text(f"#include <indexshare/{header.name}>\n", encoding="utf-8")
            output(CXX, "-std=c++20", *STRICT, "-fsyntax-only", f"-I{self.prefix}/include", source)

    def test_the_code_of_the_documentation_is_that_of_the_examples(self):
        page = (ROOT / "docs/LIBRARY.md").read_text(encoding="utf-8")
        for language, example in [("c", "c/generate.c"), ("cpp", "cpp/generate.cc"), ("cmake", "cpp/CMakeLists.txt")]:
            lines = (ROOT / "examples" / example).read_text(encoding="utf-8").splitlines()
            code = "\n".join(line.strip() for line in lines)
            blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
            self.assertTrue(blocks, language)
            for block in blocks:
                self.assertIn("\n".join(line.strip() for line in block.splitlines()), code)

    def test_the_c_header_is_c99(self):
        source = self.work / "one.c"
        source.write_text("#include <indexshare/indexshare.h>\n", encoding="utf-8")
        output("cc", "-std=c99", *STRICT, "-fsyntax-only", f"-I{self.prefix}/include", source)

    def test_the_c_example_is_built_with_pkg_config_and_answers_as_the_program_does(self):
        flags = shlex.split(output("pkg-config", "--cflags", "--libs", "indexshare", environment={
            "PKG_CONFIG_PATH": str(self.library.parent / "pkgconfig")}))
        program = self.work / "generate"
        output("cc", "-std=c99", *STRICT, "examples/c/generate.c", *flags, "-o", program)
        self.assertEqual(self.answer(program), self.answer_of_the_program())

    def test_the_cpp_example_is_built_with_cmake_and_answers_as_the_program_does(self):
        build = self.work / "cpp"
        output(CMAKE, "-S", "examples/cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={CXX}",
               "-DCMAKE_CXX_FLAGS=" + " ".join(STRICT))
        output(CMAKE, "--build", build)
        self.assertEqual(self.answer(build / "generate"), self.answer_of_the_program())


if __name__ == "__main__":
    unittest.main()
