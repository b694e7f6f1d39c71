"""Pictures of the web page for the documents: INDEXSHARE=build/release/indexshare build/python/bin/python
tests/server/screenshots.py docs/images"""

import pathlib
import shutil
import sys

from playwright.sync_api import expect, sync_playwright

from support import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTES = ROOT.joinpath("tools/demo/notes.txt").read_text().strip()
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


def ask(page, text):
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Index lens")).to_be_visible()


def take(browser, port, scheme, folder):
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1180, "height": 760})
    page.add_init_script("localStorage.setItem('indexshare.settings', '{\"temperature\": 0}')")
    page.goto(f"http://127.0.0.1:{port}/")
    ask(page, "What is a parrakeet?")
    page.get_by_role("button", name="New conversation").click()
    ask(page, NOTES)
    page.screenshot(path=folder / f"page-{scheme}.png")
    page.set_viewport_size({"width": 900, "height": 920})
    page.get_by_role("button", name="Index lens").click()
    page.get_by_role("option").nth(12).click()
    page.get_by_role("dialog").screenshot(path=folder / f"lens-{scheme}.png")
    page.context.close()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    server = Server()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            for scheme in ["light", "dark"]:
                take(browser, server.port, scheme, folder)
    finally:
        server.close()


if __name__ == "__main__":
    main()
