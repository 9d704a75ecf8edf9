/// The only script. Pages work without it: it chooses a theme, applies a menu when it changes, sorts tables, and
/// reloads the last records.
enum Script {
    static let text = #"""
        "use strict";
        (() => {
          const root = document.documentElement;
          const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
          const store = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* not allowed */ } };
          const show = (theme) => { if (theme) root.dataset.theme = theme; else delete root.dataset.theme; };
          show(stored());

          const addThemeButton = () => {
            const nav = document.querySelector("nav");
            if (!nav) return;
            const button = document.createElement("button");
            button.type = "button";
            button.className = "theme";
            const isDark = () => root.dataset.theme
              ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
            const label = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
            button.addEventListener("click", () => {
              const theme = isDark() ? "light" : "dark";
              store(theme);
              show(theme);
              label();
            });
            label();
            nav.append(button);
          };

          // The menu and the filters are open on wide screens, also in browsers that cannot style closed details.
          const openDetails = () => {
            const wide = matchMedia("(min-width: 900px)");
            const update = () => {
              for (const part of document.querySelectorAll(".menu, .more")) part.open = wide.matches;
            };
            wide.addEventListener("change", update);
            update();
          };

          const applyMenus = () => {
            for (const form of document.querySelectorAll(".filters")) {
              form.addEventListener("change", (event) => {
                if (event.target.type === "date") {
                  form.elements.period.value = "";
                } else if (event.target.tagName === "SELECT" && event.target.value !== "") {
                  form.requestSubmit();
                } else if (event.target.tagName === "SELECT" && event.target.name !== "period") {
                  form.requestSubmit();
                }
              });
              form.addEventListener("submit", () => {
                for (const field of form.querySelectorAll("input, select")) {
                  if (field.value === "" && field.name !== "period" && field.name !== "shown") field.disabled = true;
                }
              });
            }
            addEventListener("pageshow", () => {
              for (const field of document.querySelectorAll(".filters [disabled]")) field.disabled = false;
            });
          };

          const number = (cell) => {
            const match = cell.textContent.replaceAll(",", "").replace("\u2212", "-").match(/-?\d+(\.\d+)?/);
            return match ? Number(match[0]) : null;
          };
          const sortTables = () => {
            for (const table of document.querySelectorAll(".scroll > table")) {
              const body = table.tBodies[0];
              if (!body || body.rows.length < 3 || table.matches(".campaigns, .funnel, .histogram")) continue;
              [...table.tHead.rows[0].cells].forEach((head, index) => {
                if (!head.textContent) return;
                const button = document.createElement("button");
                button.type = "button";
                button.className = "sort";
                button.append(...head.childNodes);
                head.append(button);
                button.addEventListener("click", () => {
                  const down = head.getAttribute("aria-sort") !== "descending";
                  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
                  head.setAttribute("aria-sort", down ? "descending" : "ascending");
                  const isNumber = head.classList.contains("number");
                  const rows = [...body.rows].map((row) => {
                    const cell = row.cells[index];
                    return { row, key: isNumber ? number(cell) : cell.textContent };
                  });
                  rows.sort((one, other) => {
                    if (one.key === other.key) return 0;
                    if (one.key === null) return 1;
                    if (other.key === null) return -1;
                    return (one.key < other.key ? -1 : 1) * (down ? -1 : 1);
                  });
                  body.append(...rows.map(({ row }) => row));
                });
              });
            }
          };

          // Without a script, a shade shows that a table has more columns.
          const markWideTables = () => {
            for (const box of document.querySelectorAll(".scroll")) {
              box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
            }
          };

          // A reload waits while the reader looks elsewhere or has selected text.
          const reload = () => {
            const part = document.querySelector("[data-reload]");
            if (!part) return;
            setInterval(() => {
              if (!document.hidden && getSelection().isCollapsed) location.reload();
            }, 1000 * Number(part.dataset.reload));
          };

          document.addEventListener("DOMContentLoaded", () => {
            addThemeButton();
            openDetails();
            applyMenus();
            sortTables();
            markWideTables();
            addEventListener("resize", markWideTables);
            reload();
          });
        })();
        """#
}
