/* script.js - what a report can do besides being read: sort tables, search collectives, walk through
 * the cells of a heat map by keys, say what scrolls, and open a strategy that a link leads to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
(function () {
    "use strict";
    document.documentElement.classList.add("js");

    function all(root, selector) {
        return Array.from(root.querySelectorAll(selector));
    }

    /* The exact number of a cell, or its text; what is not known comes last, either way. */
    function keyOf(row, column) {
        const cell = row.cells[column];
        const text = cell.textContent.trim();
        return cell.dataset.v !== undefined ? Number(cell.dataset.v) : text === "-" ? null : text;
    }

    function compare(a, b) {
        return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    }

    function sortBy(table, head) {
        const column = head.cellIndex;
        const up = head.getAttribute("aria-sort") !== "ascending";
        const rows = Array.from(table.tBodies[0].rows);
        for (const other of table.tHead.rows[0].cells) {
            other.removeAttribute("aria-sort");
        }
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort(function (x, y) {
            const a = keyOf(x, column), b = keyOf(y, column);
            if (a === null || b === null) {
                return (a === null) - (b === null);
            }
            return up ? compare(a, b) : compare(b, a);
        });
        table.tBodies[0].append(...rows);
    }

    for (const table of all(document, "table.sorts")) {
        for (const button of all(table, "thead button")) {
            button.addEventListener("click", function () {
                sortBy(table, button.parentElement);
            });
        }
    }

    function search(input) {
        const rows = Array.from(document.getElementById(input.dataset.for).tBodies[0].rows);
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        let shown = 0;
        for (const row of rows) {
            const text = row.textContent.toLowerCase();
            row.hidden = !words.every(function (word) { return text.includes(word); });
            shown += row.hidden ? 0 : 1;
        }
        input.closest(".search").querySelector("output").textContent = shown + " of " + rows.length;
    }

    for (const input of all(document, "input[type=search]")) {
        input.closest(".search").hidden = false;
        input.addEventListener("input", function () { search(input); });
    }

    /* One cell of a heat map is in the order of tabs, and the arrow keys go on from it. */
    const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

    function move(table, from, to) {
        from.tabIndex = -1;
        to.tabIndex = 0;
        to.focus();
    }

    /* A line above the map says what the cell is that is pointed at; screen readers say it anyway. */
    function tellCell(table) {
        const line = document.createElement("p");
        line.className = "at";
        line.setAttribute("aria-hidden", "true");
        table.parentElement.before(line);
        function tell(event) {
            const cell = event.target.closest("td");
            if (cell) {
                line.textContent = "to " + cell.parentElement.cells[0].textContent + " from " +
                    table.tHead.rows[0].cells[cell.cellIndex].textContent + ": " + cell.textContent;
            }
        }
        table.addEventListener("mouseover", tell);
        table.addEventListener("focusin", tell);
    }

    for (const table of all(document, "table.heat")) {
        const rows = table.tBodies[0].rows;
        rows[0].cells[1].tabIndex = 0;
        table.addEventListener("keydown", function (event) {
            const cell = event.target.closest("td");
            const step = steps[event.key];
            if (!cell || !step) {
                return;
            }
            const row = rows[cell.parentElement.sectionRowIndex + step[0]];
            const next = row && row.cells[cell.cellIndex + step[1]];
            if (next && next.tagName === "TD") {
                event.preventDefault();
                move(table, cell, next);
            }
        });
        table.addEventListener("click", function (event) {
            const cell = event.target.closest("td");
            if (cell) {
                move(table, table.querySelector("td[tabindex='0']"), cell);
            }
        });
        tellCell(table);
    }

    /* Cells have colours of their own, over the shade of what scrolls: a line says it, too. */
    function hintAt(wide) {
        const hint = document.createElement("p");
        hint.className = "hint";
        hint.setAttribute("aria-hidden", "true");
        hint.textContent = "Scrolls sideways \u2192";
        wide.before(hint);
        function look() {
            hint.classList.toggle("shown", wide.scrollLeft + wide.clientWidth + 1 < wide.scrollWidth);
        }
        wide.addEventListener("scroll", look);
        new ResizeObserver(look).observe(wide); /* also when its strategy is opened */
    }

    all(document, ".wide").forEach(hintAt);

    function openTarget() {
        const part = location.hash && document.getElementById(location.hash.slice(1));
        const details = part && part.closest("details");
        if (details) {
            details.open = true;
            part.scrollIntoView();
        }
    }

    window.addEventListener("hashchange", openTarget);
    openTarget();
}());
