"""Hooks of MkDocs for mkdocs.yml: pages are written for GitHub, whose Markdown differs in three points."""
import posixpath
import re

ITEM = re.compile(r"( *)([-*]|\d+\.)( +)(?=\S)")


def anchor(heading, separator):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_page_markdown(markdown, **_):
    """Indents the content of list items by four spaces, also code blocks, and separates lists from paragraphs."""
    lines = []
    contents = []  # Columns at which the content of each open item begins.
    fence = None
    for line in markdown.split("\n"):
        text = line.lstrip()
        column = len(line) - len(text)
        previous = lines[-1] if lines else ""
        if fence is not None:
            if text.startswith("```"):
                # Two blocks in a row would be one.
                lines += [line] if fence == "```" else ["", indent + "<!-- end of code -->", ""]
                fence = None
            else:
                lines.append(fence + line[contents[-1]:] if contents else line)
            continue
        item = ITEM.match(line)
        if item or text.startswith("```") or not previous.strip():
            while text and contents and column < contents[-1]:
                contents.pop()
        indent = "    " * len(contents)
        if text.startswith("```"):
            fence = indent + "    " if contents else "```"
            lines.append("" if contents else line)
        elif item:
            isAfterText = previous.strip() and not ITEM.match(previous)
            if isAfterText and not contents:
                lines.append("")
            contents.append(item.end())
            lines.append(f"{indent}{item[2]} {line[item.end():]}")
        else:
            lines.append(indent + text if text else "")
    return re.sub(r"(?m)^\|.*$", lambda row: codeInRow(row[0]), "\n".join(lines))


def codeInRow(row):
    """A row of a table, in which a line in code needs no backslash."""
    return re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row)


def navigation(contents, folder):
    """The sections of a table of contents, with the pages that its lists link to."""
    sections = []
    for line in contents.splitlines():
        if heading := re.match(r"## (.*)", line):
            sections.append({heading[1]: []})
        elif line.startswith("- ") and sections:
            for title, path in re.findall(r"\[([^\]]*)\]\(([^)#]*\.md)\)", line):
                (pages,) = sections[-1].values()
                pages.append({title: posixpath.normpath(posixpath.join(folder, path))})
    return sections


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = anchor
    with open(f"{config['docs_dir']}/docs/README.md", encoding="utf-8") as contents:
        config["nav"] = [{"Weir": "README.md"}, {"Contents": "docs/README.md"}]
        config["nav"] += navigation(contents.read(), "docs")
    return config
