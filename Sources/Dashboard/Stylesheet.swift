/// The only stylesheet: light and dark, for wide screens, phones and print.
enum Stylesheet {
    /// Water that falls over an edge.
    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0b6fa4"/>\
        <path d="M2 5h6c3 0 3 3 3 7M2 8h5c2 0 2 2 2 4" fill="none" stroke="#fff" stroke-width="1.5"/></svg>
        """

    static let text = """
        :root { color-scheme: light dark;
          --paper: light-dark(#ffffff, #131619); --side: light-dark(#f6f7f6, #181c1f);
          --ink: light-dark(#1b2126, #e6e9e7); --soft: light-dark(#59636b, #9aa5ab);
          --rule: light-dark(#e1e4e1, #2c3338); --door: light-dark(#0b5c8a, #7cc0ea);
          --fill: light-dark(#f1f3f1, #1c2125); --s0: light-dark(#0b6fa4, #5fb3e0);
          --s1: light-dark(#b4560b, #eb9a54); --s2: light-dark(#3f7d20, #86c265);
          --s3: light-dark(#8a2f6b, #d689bb); --bad: light-dark(#a1260d, #ff9a80);
          --good: light-dark(#2d6a1e, #93cf7f); --heat: light-dark(#0b6fa4, #2f7fae); }
        :root[data-theme="dark"] { color-scheme: dark; }
        :root[data-theme="light"] { color-scheme: light; }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink); display: grid;
          grid-template-columns: 192px minmax(0, 1fr); min-height: 100vh; grid-template-rows: 1fr auto;
          font: 14px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; }
        a { color: var(--door); text-decoration-thickness: 1px; text-underline-offset: 2px; }
        :focus-visible { outline: 2px solid var(--door); outline-offset: 2px; }
        .skip { position: absolute; left: -999px; z-index: 9; }
        .skip:focus { left: 8px; top: 8px; background: var(--paper); padding: 4px 8px; }

        .side { grid-row: 1 / 3; background: var(--side); border-right: 1px solid var(--rule); padding: 16px 12px; }
        .side > * { position: sticky; top: 16px; }
        .side > .menu { top: 56px; }
        .brand { display: block; font-size: 18px; font-weight: 700; color: var(--ink); text-decoration: none;
          padding: 0 8px 8px; letter-spacing: -.01em; }
        nav p { margin: 12px 0 2px; padding: 0 8px; color: var(--soft); font-size: 12px; font-weight: 600; }
        nav ul { list-style: none; margin: 0; padding: 0; }
        nav a { display: block; padding: 4px 8px; border-radius: 6px; color: var(--ink); text-decoration: none; }
        nav a:hover { background: var(--fill); }
        nav a[aria-current] { background: var(--fill); font-weight: 600; box-shadow: inset 3px 0 var(--s0); }
        nav form { margin: 16px 8px 0; }
        .theme { margin: 16px 8px 0; font-size: 12px; }
        summary { cursor: pointer; padding: 3px 0; overflow-wrap: anywhere; }

        main { padding: 16px 28px 32px; max-width: 1480px; min-width: 0; }
        main, footer { grid-column: 2; }
        footer { color: var(--soft); font-size: 12px; padding: 8px 28px 24px; overflow-wrap: anywhere; min-width: 0; }
        h1 { font-size: 24px; line-height: 1.25; margin: 16px 0 0; letter-spacing: -.01em; }
        h2 { font-size: 16px; margin: 32px 0 2px; }
        h3 { font-size: 14px; margin: 20px 0 0; }
        .range, .ids { color: var(--soft); margin: 2px 0 0; }
        .note { color: var(--soft); margin: 0 0 8px; max-width: 90ch; font-size: 13px; }
        .empty { color: var(--soft); padding: 12px 16px; background: var(--fill); border-radius: 8px; }
        .first h2 { margin-top: 4px; color: var(--ink); }
        .state, .unfiltered { border-left: 3px solid var(--s1); background: var(--fill); padding: 8px 12px; margin: 12px 0 0;
          border-radius: 0 6px 6px 0; max-width: 100ch; }
        .list { padding-left: 20px; margin: 8px 0; }

        input, select, button { font: inherit; font-size: 13px; color: var(--ink); background: var(--paper);
          border: 1px solid var(--rule); border-radius: 6px; padding: 4px 8px; min-height: 32px; max-width: 100%; }
        button { background: var(--fill); cursor: pointer; }
        .action { display: inline-block; margin: 4px 8px 4px 0; }
        .confirm { margin: 12px 0; }
        .act { font-weight: 600; border-color: var(--door); color: var(--door); }
        .filters { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; padding-bottom: 8px;
          border-bottom: 1px solid var(--rule); }
        .filters label { display: block; min-width: 0; }
        .filters label > span { display: block; color: var(--soft); font-size: 12px; }
        .filters select { width: 118px; } .filters .days select { width: 238px; } .filters select[name="compare"] { width: 158px; }
        .filters select[name="in"] { width: 96px; }
        .filters input[type="date"] { width: 126px; }
        .filters input[type="text"] { width: 96px; }
        @supports selector(:has(a)) {
          .filters:not(:has([name="period"] > [value=""]:checked)) .dates { display: none; }
        }
        .fields { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; }
        .apply { border-color: var(--soft); }
        .chips { list-style: none; display: flex; flex-wrap: wrap; gap: 6px; padding: 0; margin: 8px 0 0; }
        .chip { background: var(--fill); border: 1px solid var(--rule); border-radius: 16px; padding: 2px 6px 2px 12px;
          font-size: 13px; }
        .chip.fixed { padding-right: 12px; }
        .chip em { color: var(--soft); font-style: normal; margin-left: 6px; }
        .chip a { display: inline-block; min-width: 24px; text-align: center; text-decoration: none; font-size: 16px; }

        .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(184px, 1fr)); gap: 12px; margin: 8px 0; }
        .card { border: 1px solid var(--rule); border-radius: 8px; padding: 10px 14px; display: flex;
          flex-direction: column; min-width: 0; }
        .card .title { color: var(--soft); font-size: 13px; }
        .card .amount { font-size: 19px; line-height: 1.35; font-weight: 600; font-variant-numeric: tabular-nums; }
        .card .amount.interval { font-size: 16px; line-height: 1.6; }
        .card .amount a { display: inline-block; min-width: 24px; }
        .card .before { color: var(--soft); font-size: 12px; }
        .card .before a { color: inherit; }
        .card svg { margin-top: auto; padding-top: 6px; height: 38px; }
        .card a, td.number a, .division a { text-decoration-line: none; color: var(--ink); }
        .card a:hover, td.number a:hover, .card a:focus-visible, td.number a:focus-visible {
          text-decoration-line: underline; text-decoration-style: solid; color: var(--door); }
        .change { font-weight: 600; white-space: nowrap; }
        .good { color: var(--good); } .bad { color: var(--bad); }

        .scroll { overflow: auto; max-height: 78vh; margin: 8px 0; border: 1px solid var(--rule); border-radius: 8px;
          width: fit-content; max-width: 100%;
          /* The shade at the right edge scrolls with the table only at its end, where the first layer hides it. */
          background: linear-gradient(to left, var(--paper) 50%, transparent) right / 48px 100% no-repeat local,
            linear-gradient(to left, color-mix(in srgb, var(--ink) 32%, transparent), transparent)
            right / 24px 100% no-repeat scroll; }
        .scroll::-webkit-scrollbar { width: 10px; height: 10px; }
        .scroll::-webkit-scrollbar-thumb { background: var(--soft); border-radius: 5px; border: 2px solid var(--fill); }
        .scroll::-webkit-scrollbar-track { background: var(--fill); }
        .scroll.wide::before { content: "More columns: scroll right →"; display: block; position: sticky; left: 0;
          width: fit-content; padding: 4px 10px; font-size: 12px; color: var(--soft); }
        table { border-collapse: separate; border-spacing: 0; font-size: 13px; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: 6px 10px; border-bottom: 1px solid var(--rule); vertical-align: top;
          font-weight: 400; white-space: nowrap; }
        tbody tr:last-child > * { border-bottom: 0; }
        td:not(.number, .word) { white-space: normal; max-width: 560px; overflow-wrap: break-word; }
        thead th { position: sticky; top: 0; z-index: 2; background: var(--fill); color: var(--soft); font-weight: 600;
          font-size: 12px; vertical-align: bottom; white-space: normal; }
        thead th a { color: inherit; text-decoration: none; }
        thead th a:hover { text-decoration: underline; }
        thead th[aria-sort] { color: var(--ink); }
        tbody th, tfoot th { position: sticky; left: 0; z-index: 1; background: var(--paper); max-width: 300px;
          white-space: normal; min-width: 9em; overflow-wrap: break-word; }
        thead th::first-letter { text-transform: uppercase; }
        thead th:first-child { left: 0; z-index: 3; }
        tfoot > tr > * { position: sticky; bottom: 0; background: var(--fill); font-weight: 600;
          border-top: 1px solid var(--rule); border-bottom: 0; }
        tfoot th { z-index: 3; }
        tbody tr:hover > * { background: var(--fill); }
        td.text { min-width: 180px; }
        .number { text-align: right; }
        .sort { all: unset; cursor: pointer; } .sort:focus-visible { outline: 2px solid var(--door); }
        [aria-sort="descending"] > .sort::after { content: " ↓"; } [aria-sort="ascending"] > .sort::after { content: " ↑"; }
        small { display: block; white-space: nowrap; color: var(--soft); font-size: 11.5px; line-height: 1.35; }
        small.good, small.bad { font-weight: 600; } small.good { color: var(--good); } small.bad { color: var(--bad); }
        tbody th small, .card small { white-space: normal; } .heat td small { color: inherit; }
        td.number > .parts { white-space: normal; }
        .parts > span { display: inline-block; white-space: nowrap; }
        .unknown { color: var(--soft); }
        .heat td[class*=" h"] { min-width: 84px; }
        .campaigns input[type="checkbox"] { min-height: 0; width: 16px; height: 16px; margin: 4px 8px 4px 0;
          vertical-align: -6px; }
        .heat .h1 { background: color-mix(in srgb, var(--heat) 6%, var(--paper)); }
        .heat .h2 { background: color-mix(in srgb, var(--heat) 12%, var(--paper)); }
        .heat .h3 { background: color-mix(in srgb, var(--heat) 18%, var(--paper)); }
        .heat .h4 { background: color-mix(in srgb, var(--heat) 24%, var(--paper)); }
        .heat .h5 { background: color-mix(in srgb, var(--heat) 30%, var(--paper)); }
        .heat .h6 { background: color-mix(in srgb, var(--heat) 36%, var(--paper)); }
        .heat .h7 { background: color-mix(in srgb, var(--heat) 42%, var(--paper)); }
        .heat .young { background-image: repeating-linear-gradient(135deg, transparent 0 5px,
          color-mix(in srgb, var(--soft) 22%, transparent) 5px 6px); }

        .files, .chooser, .why { font-size: 12px; color: var(--soft); margin: 0 0 8px; }
        .files summary, .chooser summary, .why summary, footer summary { width: fit-content; }
        .files p { margin: 4px 0; } .files a { margin-right: 12px; }
        pre { background: var(--fill); padding: 8px 12px; border-radius: 6px; overflow-x: auto; font-size: 12.5px;
          white-space: pre-wrap; overflow-wrap: anywhere; color: var(--ink); margin: 6px 0; }
        .warning { color: var(--bad); font-weight: 600; }
        .sum .amount, .division .amount { font-size: 20px; margin-left: 12px; font-variant-numeric: tabular-nums; }
        .files + .note { margin-top: 8px; }
        .progress { color: var(--soft); margin: 0; }
        .progress:has(+ .progress), .progress:has(~ section) { display: none; }
        .choices { margin: 6px 0; line-height: 2; }
        .choices a { display: inline-block; line-height: 1.4; margin: 2px 4px 2px 0; padding: 3px 8px; border-radius: 6px; border: 1px solid var(--rule);
          text-decoration: none; white-space: nowrap; font-size: 12.5px; }
        .choices .chosen { font-weight: 600; color: var(--ink); background: var(--fill); }
        .conditions { padding-left: 18px; color: var(--soft); margin: 0 0 8px; }
        .doors form { display: flex; gap: 8px; align-items: baseline; margin: 8px 0; flex-wrap: wrap; }

        figure { margin: 12px 0; max-width: 900px; }
        figcaption { color: var(--soft); font-size: 13px; }
        .key { margin-left: 12px; }
        .key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 4px;
          background: currentColor; }
        svg { width: 100%; height: auto; display: block; }
        svg.small { height: 28px; } td svg.small { width: 72px; }
        svg.small .line { stroke-width: 1.5; stroke-linecap: round; vector-effect: non-scaling-stroke; }
        svg.bar { width: 120px; height: 8px; margin: 4px 0 0 auto; padding: 0; border: 0; background: var(--fill);
          border-radius: 2px; }
        .funnel td.bar { width: 320px; } td.bar svg.bar { width: 100%; min-width: 140px; height: 14px; margin: 3px 0; }
        svg.bar .fill { fill: var(--s0); opacity: .75; } svg.bar .mark { stroke: var(--ink); stroke-width: 2; }
        svg .grid { stroke: var(--rule); stroke-width: 1; }
        svg .event { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 2 3; }
        svg .label { fill: var(--soft); font-size: 11px; }
        svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
        svg .last { text-anchor: end; }
        svg .line { fill: none; stroke-width: 2; } svg .band { opacity: .22; stroke: none; }
        svg .line.young { stroke-dasharray: 4 4; }
        svg .line.s0 { stroke: var(--s0); } svg .line.s1 { stroke: var(--s1); }
        svg .line.s2 { stroke: var(--s2); } svg .line.s3 { stroke: var(--s3); }
        svg .band.s0, svg .dot.s0 { fill: var(--s0); } svg .band.s1, svg .dot.s1 { fill: var(--s1); }
        svg .band.s2, svg .dot.s2 { fill: var(--s2); } svg .band.s3, svg .dot.s3 { fill: var(--s3); }
        svg .dot.young { fill: var(--paper); stroke: var(--soft); }
        .key.s0 { color: var(--s0); } .key.s1 { color: var(--s1); } .key.s2 { color: var(--s2); }
        .key.s3 { color: var(--s3); }
        dt { font-weight: 600; margin-top: 8px; } dd { margin: 0; color: var(--soft); }
        .sign-in { max-width: 420px; margin-top: 15vh; grid-column: 1 / 3; justify-self: center; }

        @media (min-width: 900px) {
          @supports selector(details::details-content) {
            .menu > summary, .more > summary { display: none; }
            .menu::details-content, .more::details-content { content-visibility: visible; display: contents; }
            .more, .fields { display: contents; }
          }
        }
        @media (max-width: 899px) {
          body { display: block; }
          .side { display: flex; align-items: baseline; gap: 12px; padding: 8px 16px; border: 0;
            border-bottom: 1px solid var(--rule); }
          .side > *, .side > .menu { position: static; } .brand { padding: 0; }
          .menu { flex: 1; } .menu[open] { padding-bottom: 8px; }
          main { padding: 8px 16px 24px; } footer { padding: 8px 16px 24px; }
          .filters label { flex: 1 1 130px; } .filters select[name], .filters input[type] { width: 100%; }
          .filters .days { flex-basis: 100%; } .filters .days select { width: 100%; } .fields label { flex-basis: 200px; }
          .more { order: 3; flex-basis: 100%; font-size: 13px; }
          .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; } .card { padding: 8px 10px; }
          .card .amount { font-size: 17px; line-height: 1.45; }
          h1 { font-size: 20px; }
          th, td { padding: 6px 8px; } tbody th, tfoot th { max-width: 148px; min-width: 128px; } small { white-space: normal; }
          tbody th small { overflow-wrap: anywhere; }
          .funnel td.bar { width: 72px; } td.bar svg.bar { min-width: 48px; } .funnel tbody th { min-width: 104px; }
          .funnel td { white-space: normal; }
          .heat tbody th { min-width: 0; white-space: nowrap; } .heat td[class*=" h"] { min-width: 68px; }
          figure svg { overflow: visible; margin-top: 14px; } svg .label { font-size: 22px; }
          svg .label.end { text-anchor: start; transform: translate(-58px, -12px); }
        }
        @media print { .side, .filters, .files, .doors form, .skip { display: none; } body { font-size: 11px; display: block; }
          section { break-inside: avoid-page; } a { color: inherit; } .scroll { max-height: none; overflow: visible; background: none; }
          .scroll.wide::before { display: none; } }
        """
}
