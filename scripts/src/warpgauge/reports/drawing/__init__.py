# SPDX-License-Identifier: Apache-2.0
"""Pictures as SVG: `drawn` of each makes an element for a page, `picture.document` a file of it."""
