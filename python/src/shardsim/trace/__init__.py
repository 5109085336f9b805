"""Programs of other frameworks, traced."""

# SPDX-License-Identifier: Apache-2.0
