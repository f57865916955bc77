# SPDX-License-Identifier: MIT
"""A workflow file: what a dispatch may pass, and what its only job does."""
import yaml

import expressions

MOST_INPUTS, MOST_TEXT = 25, 65535


class Refused(Exception):
    """A dispatch that GitHub answers with 422."""


class Workflow:
    def __init__(self, folder, file):
        self.path = f".github/workflows/{file}"
        with open(folder / self.path) as text:
            self.document = yaml.safe_load(text)
        on = self.document.get("on", self.document.get(True))  # YAML 1.1 reads the key as true
        self.inputs_known = ((on.get("workflow_dispatch") or {}).get("inputs") or {}) if isinstance(on, dict) else {}
        self.dispatched = "workflow_dispatch" in on  # a name, a list or a mapping
        self.name = self.document.get("name", self.path)
        jobs = self.document["jobs"]
        if len(jobs) != 1:
            raise Refused("the fake runs workflows of one job")
        (self.job_name, self.job), = jobs.items()

    def inputs(self, given):
        """What a dispatch gives, checked, with the defaults."""
        known = self.inputs_known
        if not self.dispatched:
            raise Refused("Workflow does not have 'workflow_dispatch' trigger")
        if len(given) > MOST_INPUTS:
            raise Refused(f"you may only define up to {MOST_INPUTS} `inputs` for a `workflow_dispatch` event")
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise Refused(f"Unexpected inputs provided: {unknown}")
        if sum(len(str(value)) for value in given.values()) > MOST_TEXT:
            raise Refused("inputs are too large.")
        out = {}
        for name, traits in known.items():
            traits = traits or {}
            if name in given and not isinstance(given[name], (str, bool, int, float)):
                raise Refused(f"For 'inputs/{name}', {given[name]} is not a string.")
            if traits.get("required") and not given.get(name) and "default" not in traits:
                raise Refused(f"Required input '{name}' not provided")
            out[name] = given.get(name, traits.get("default", ""))
        return out

    def title(self, contexts):
        text = self.document.get("run-name")
        state = {"failed": False, "cancelled": False}
        return expressions.text_of(expressions.fill(text, contexts, state)) if text else self.name
