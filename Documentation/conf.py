# SPDX-License-Identifier: GPL-2.0
#
# For scripts/docs, which says in $srctree where a kernel's sources are: the
# kernel-doc directive is theirs.

import os
import re
import sys

from docutils import nodes
from sphinx import addnodes

sys.path.insert(0, os.path.join(os.environ["srctree"], "Documentation/sphinx"))

project = "kdtl"
extensions = ["kerneldoc"]
kerneldoc_srctree = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

root_doc = "index"
exclude_patterns = ["output"]
highlight_language = "none"
primary_domain = "c"
html_theme = "alabaster"
html_theme_options = {"description": "dispatch trace logs inside the kernel",
                      "page_width": "min(72em, 96vw)", "fixed_sidebar": True}
html_static_path = ["pages.css"]
html_css_files = ["pages.css"]
html_show_copyright = False
html_copy_source = False

# Words that the C parser meets in kernel code.
c_id_attributes = ["__percpu", "__user", "__init", "__exit"]

# The kernel's own types and functions are documented there, not here.
nitpicky = True
nitpick_ignore_regex = [("c:.*", r"(?!kdtl_).*")]


def link_names(app, doctree):
    """``kdtl_load()`` in the text leads to its entry in the reference."""
    for literal in list(doctree.findall(nodes.literal)):
        name = re.fullmatch(r"(?:(?:struct|enum) )?(kdtl_\w+)(\(\))?",
                            literal.astext())
        if not name or isinstance(literal.parent, addnodes.pending_xref):
            continue
        ref = addnodes.pending_xref(
            "", refdomain="c", reftype="func" if name.group(2) else "identifier",
            reftarget=name.group(1), refexplicit=True, refdoc=app.env.docname,
            kdtl_literal=True)
        literal.replace_self(ref)
        ref += literal


def stay_literal(app, env, node, content):
    """What is not in the reference: internal functions, modules, files."""
    return content if node.get("kdtl_literal") else None


def setup(app):
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", stay_literal)
