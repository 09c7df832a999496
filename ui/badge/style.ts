// The badge's looks: a subset of the console's tokens. Rules on the host are important, since the
// page's own rules for any element would win otherwise.
export const kStyle = `
:host{all:initial!important;position:fixed!important;inset:auto 16px 16px auto!important;z-index:2147483647!important;
display:block!important;width:auto!important;height:auto!important;max-width:calc(100vw - 16px)!important;overflow:visible!important;
margin:0!important;padding:0!important;border:0!important;background:none!important;color-scheme:light dark!important;
--s:light-dark(#fff,#171a1d);--h:light-dark(#eceeee,#1f2327);--l:light-dark(#dfe2e3,#282d31);--e:light-dark(#80888e,#6d767d);
--t:light-dark(#171a1d,#e4e7e9);--t2:light-dark(#474f55,#abb2b8);--t3:light-dark(#5f676d,#8d969d);
--a:light-dark(#0a6b5f,#4cc2ae);--d:light-dark(#a8231b,#ff8d83);
font:13px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif!important;
font-variant-numeric:tabular-nums!important}
:host([data-theme=light]){color-scheme:light!important}
:host([data-theme=dark]){color-scheme:dark!important}
*{box-sizing:border-box}
.in{display:flex;flex-direction:column-reverse;align-items:flex-end;gap:8px;color:var(--t)}
button{font:inherit;color:var(--t);background:var(--s);border:1px solid var(--e);border-radius:3px;height:28px;padding:0 8px;cursor:pointer;white-space:nowrap}
button:hover{background:var(--h)}
button[disabled]{color:var(--t3);border-color:var(--l);cursor:not-allowed}
button.bare{border-color:transparent;background:none;color:var(--t2);height:24px;padding:0 6px}
button.bare:hover{background:var(--h)}
:focus-visible{outline:2px solid var(--a);outline-offset:2px}
.pill{display:inline-flex;align-items:center;gap:8px;height:30px;padding:0 12px;border-radius:6px;
box-shadow:0 8px 24px light-dark(rgb(20 24 28/.16),rgb(0 0 0/.55)),0 1px 2px light-dark(rgb(20 24 28/.12),rgb(0 0 0/.5))}
.pill :is(b,span)+span{border-left:1px solid var(--e);padding-left:8px;color:var(--t2)}
.dot{width:8px;height:8px;border-radius:50%;flex:none;border:2px solid var(--t3)}
.on{background:var(--a);border-color:var(--a)}
.rec{border-color:var(--a)}
.bad{background:var(--d);border-color:var(--d);border-radius:0;transform:rotate(45deg) scale(.85)}
b{font-weight:600}
section{width:452px;max-width:calc(100vw - 16px);background:var(--s);border:1px solid var(--e);border-radius:6px;
box-shadow:0 8px 24px light-dark(rgb(20 24 28/.16),rgb(0 0 0/.55))}
section>*{padding:8px 12px;border-bottom:1px solid var(--l)}
section>:last-child{border-bottom:0}
.top,.act{display:flex;align-items:center;gap:8px;flex-wrap:wrap}
.top span,.act span,.why{color:var(--t2)}
.end{margin-left:auto}
.why{font-size:12px}
.ph{display:flex;height:8px;margin-bottom:6px;background:var(--h)}
.ph i{flex:none}
.key{display:flex;gap:2px 10px;flex-wrap:wrap;font-size:12px;color:var(--t2)}
.key span{display:inline-flex;align-items:center;gap:6px}
.key i{width:10px;height:10px}
.p0{background:light-dark(#6f777d,#97a0a7)}.p1{background:light-dark(#8b9298,#7b848b)}
.p2{background:light-dark(#c7d1d8,#43515c)}.p3{background:light-dark(#a4b4c0,#5d707e)}.p4{background:light-dark(#d9dcde,#33393e)}
.list{max-height:min(320px,45vh);overflow:auto}
table{border-collapse:collapse;width:100%;font:inherit;color:inherit}
th{font-size:12px;font-weight:500;color:var(--t2);text-align:right;padding:0 4px;height:20px;white-space:nowrap}
td{text-align:right;padding:0 4px;height:24px;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
th:last-child,td:last-child{padding-right:0}
.path{max-width:0;width:58%;overflow:hidden;text-overflow:ellipsis}
i{font-style:normal}
td i,.u{color:var(--t3)}
a{color:var(--a);text-decoration:none}
a:hover{text-decoration:underline}
.err{color:var(--d)}
.gone{display:none}
@media (pointer:coarse){button{height:40px}button.bare{height:36px}.pill{height:40px}}
@media (max-width:520px){:host{inset:auto 8px 8px auto!important}.opt{display:none}}
@media print{:host{display:none!important}}
@media (forced-colors:active){.dot,.ph i,.key i{forced-color-adjust:none}}
`;
