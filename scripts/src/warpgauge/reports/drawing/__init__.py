# SPDX-License-Identifier: Apache-2.0
"""Pictures as SVG: each `drawn` returns an element for a page, `picture.document` a file."""
