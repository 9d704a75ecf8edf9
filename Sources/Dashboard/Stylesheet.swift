/// The only stylesheet: dark and light, for phones and print.
enum Stylesheet {
    static let text = """
        :root { color-scheme: light dark;
          --paper: #fdfdfb; --ink: #1d2327; --soft: #5a646c; --rule: #d9dcd8; --door: #0b5c8a; --fill: #f1f2ee;
          --s0: #0b6fa4; --s1: #b4560b; --s2: #3f7d20; --s3: #8a2f6b; --bad: #a1260d; --good: #2d6a1e; }
        @media (prefers-color-scheme: dark) { :root {
          --paper: #14181b; --ink: #e4e7e5; --soft: #9aa5ab; --rule: #323a3f; --door: #7cc0ea; --fill: #1d2327;
          --s0: #5fb3e0; --s1: #eb9a54; --s2: #86c265; --s3: #d689bb; --bad: #ff9a80; --good: #93cf7f; } }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink);
          font: 15px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; }
        a { color: var(--door); text-decoration-thickness: 1px; text-underline-offset: 2px; }
        a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, summary:focus-visible {
          outline: 2px solid var(--door); outline-offset: 2px; }
        .skip { position: absolute; left: -999px; }
        .skip:focus { left: 8px; top: 8px; background: var(--paper); padding: 4px 8px; }
        header, main, footer { max-width: 1680px; margin: 0 auto; padding: 0 16px; }
        nav { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; padding: 12px 0 8px; }
        nav strong { font-size: 18px; margin-right: 8px; }
        nav a { text-decoration: none; padding: 2px 0; }
        nav a[aria-current] { color: var(--ink); font-weight: 600; border-bottom: 2px solid var(--s0); }
        nav form { margin-left: auto; }
        .filters { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: baseline; padding: 8px 0;
          border-top: 1px solid var(--rule); border-bottom: 1px solid var(--rule); color: var(--soft); font-size: 13px; }
        input, select, button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--soft);
          border-radius: 4px; padding: 2px 6px; min-height: 28px; }
        button { background: var(--fill); cursor: pointer; color: var(--ink); }
        .fixed { font-weight: 600; color: var(--ink); }
        h1 { font-size: 24px; margin: 20px 0 4px; }
        h2 { font-size: 17px; margin: 28px 0 4px; }
        h3 { font-size: 15px; margin: 16px 0 0; }
        .note { color: var(--soft); margin: 0 0 8px; }
        .empty { color: var(--soft); padding: 12px; background: var(--fill); border-radius: 6px; }
        .figures { display: flex; flex-wrap: wrap; gap: 12px; margin: 8px 0; }
        .figure { flex: 1 1 150px; border: 1px solid var(--rule); border-radius: 6px; padding: 8px 12px; }
        .figure.wide { flex-basis: 320px; }
        .figure .title { display: block; color: var(--soft); font-size: 13px; }
        .figure .amount { font-size: 22px; font-variant-numeric: tabular-nums; }
        .figure .before { display: block; color: var(--soft); font-size: 13px; }
        .figure .before a { color: inherit; }
        .scroll { overflow-x: auto; margin: 8px 0; }
        table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: 4px 8px 4px 0; border-bottom: 1px solid var(--rule);
          white-space: nowrap; vertical-align: top; font-weight: 400; max-width: 560px; overflow: hidden;
          text-overflow: ellipsis; }
        thead th { white-space: normal; vertical-align: bottom; color: var(--soft); font-weight: 600; position: sticky; top: 0; background: var(--paper); }
        td:not(.number) { white-space: normal; }
        .number { text-align: right; }
        td.number { white-space: normal; }
        td.number > a, td.number > span { white-space: nowrap; }
        td.number > .parts { white-space: normal; }
        .parts > span { display: inline-block; white-space: nowrap; }
        td.number a { color: var(--ink); text-decoration: underline dotted var(--soft); }
        td.number a:hover, td.number a:focus-visible { color: var(--door); text-decoration: underline; }
        .figure a.amount, .figure .amount a { color: var(--ink); text-decoration: underline dotted var(--soft); }
        .unknown { color: var(--soft); }
        .files { font-size: 13px; color: var(--soft); }
        pre { background: var(--fill); padding: 8px 12px; border-radius: 6px; overflow-x: auto; font-size: 13px;
          white-space: pre-wrap; overflow-wrap: anywhere; }
        .warning { color: var(--bad); font-weight: 600; }
        .good { color: var(--good); }
        .sum .amount { font-size: 22px; margin-left: 12px; font-variant-numeric: tabular-nums; }
        .division .amount { font-size: 22px; font-variant-numeric: tabular-nums; }
        .files + .note { margin-top: 8px; }
        .progress { color: var(--soft); margin: 0; }
        .progress:has(+ .progress), .progress:has(~ section) { display: none; }
        .choices a { margin-right: 12px; }
        .choices .chosen { font-weight: 600; color: var(--ink); }
        .conditions { padding-left: 18px; color: var(--soft); margin: 0 0 8px; }
        .doors form { display: flex; gap: 8px; align-items: baseline; margin: 8px 0; flex-wrap: wrap; }
        figure { margin: 12px 0; max-width: 860px; }
        figcaption { color: var(--soft); font-size: 13px; }
        .key { margin-left: 12px; }
        .key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 4px;
          background: currentColor; }
        svg { width: 100%; height: auto; }
        svg .grid { stroke: var(--rule); stroke-width: 1; }
        svg .label { fill: var(--soft); font-size: 11px; }
        svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
        svg .line { fill: none; stroke-width: 2; } svg .band { opacity: .22; stroke: none; }
        svg .line.young { stroke-dasharray: 4 4; }
        svg .line.s0 { stroke: var(--s0); } svg .line.s1 { stroke: var(--s1); }
        svg .line.s2 { stroke: var(--s2); } svg .line.s3 { stroke: var(--s3); }
        svg .band.s0, svg .dot.s0 { fill: var(--s0); } svg .band.s1, svg .dot.s1 { fill: var(--s1); }
        svg .band.s2, svg .dot.s2 { fill: var(--s2); } svg .band.s3, svg .dot.s3 { fill: var(--s3); }
        svg .dot.young { fill: var(--paper); stroke: var(--soft); }
        .key.s0 { color: var(--s0); } .key.s1 { color: var(--s1); } .key.s2 { color: var(--s2); }
        .key.s3 { color: var(--s3); }
        footer { color: var(--soft); font-size: 12px; margin: 40px auto 24px; border-top: 1px solid var(--rule);
          padding-top: 8px; overflow-wrap: anywhere; }
        dt { font-weight: 600; margin-top: 8px; } dd { margin: 0; color: var(--soft); }
        .sign-in { max-width: 420px; margin-top: 15vh; }
        @media (max-width: 640px) { h1 { font-size: 20px; } .figure { flex-basis: 46%; } .figure.wide { flex-basis: 100%; } }
        @media print { nav, .filters, .files, .doors form, .skip { display: none; } body { font-size: 11px; }
          section { break-inside: avoid-page; } a { color: inherit; } }
        """
}
