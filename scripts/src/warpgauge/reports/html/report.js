'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent), rows = data.rows;
  const table = document.getElementById('all'), body = table.tBodies[0];
  const trs = [...body.rows], links = trs.map(tr => tr.querySelector('a'));
  const keys = links.map(a => decodeURIComponent(a.hash.slice(5)));
  const numbers = new Map(keys.map((key, at) => [key, at]));
  const lower = keys.map(key => key.toLowerCase());
  const SHOWN = 200;
  let most = SHOWN, column = null, down = true;

  const make = (tag, text, more) => {
    const one = Object.assign(document.createElement(tag), more || {});
    if (text !== undefined) one.textContent = text;
    return one;
  };

  // Search, filter and sort: only the first rows are in the page.
  const search = make('input', undefined, {type: 'search', placeholder: 'Search ( / )'});
  search.setAttribute('aria-label', 'Search benchmarks by name');
  const filter = make('select');
  filter.setAttribute('aria-label', 'Verdict');
  filter.append(make('option', 'all verdicts', {value: ''}));
  data.outcomes.forEach((name, at) => {
    const count = rows.outcome.filter(one => one === at).length;
    if (count) filter.append(make('option', `${name} (${count})`, {value: at}));
  });
  const told = make('span', '', {className: 'faint'});
  told.setAttribute('role', 'status');
  const more = make('button', 'Show all', {type: 'button'});
  const tools = document.getElementById('tools');
  tools.append(search, filter, told, more);
  tools.hidden = false;

  const COLUMNS = [rows.outcome, lower, rows.before, rows.after, rows.ratio, rows.ratio,
                   rows.bound, rows.limit];
  const order = (a, b) => {
    const values = COLUMNS[column], x = values[a], y = values[b];
    if (x === null || y === null) return (x === null) - (y === null);
    return (x < y ? -1 : x > y ? 1 : a - b) * (down ? 1 : -1);
  };
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = [];
    for (let at = 0; at < keys.length; at++)
      if ((filter.value === '' || rows.outcome[at] === +filter.value)
          && words.every(word => lower[at].includes(word))) found.push(at);
    if (column !== null) found.sort(order);
    body.replaceChildren(...found.slice(0, most).map(at => trs[at]));
    const left = found.length - Math.min(most, found.length);
    told.textContent = `${found.length} of ${keys.length}` + (left ? `, ${found.length - left} shown` : '');
    more.hidden = !left;
  };
  const again = () => { most = SHOWN; show(); };
  search.addEventListener('input', again);
  filter.addEventListener('change', again);
  more.addEventListener('click', () => { most = Infinity; show(); });
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = make('button', head.textContent, {type: 'button'});
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      down = column === at ? !down : at < 2;
      column = at;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'ascending' : 'descending');
      show();
    });
  });
  addEventListener('beforeprint', () => { most = Infinity; show(); });
  addEventListener('afterprint', again);

  // A row's own page.
  const dialog = make('dialog');
  dialog.setAttribute('aria-labelledby', 'row-name');
  document.body.append(dialog);
  const seconds = value => {
    for (const [size, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']])
      if (value >= size) return `${(value / size).toPrecision(4)} ${unit}`;
    return `${(value * 1e9).toPrecision(4)} ns`;
  };
  const percent = value => `${value > 0 ? '+' : value < 0 ? '−' : ''}${Math.abs(100 * value).toPrecision(3)} %`;
  const svg = (tag, attributes, text) => {
    const one = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const name in attributes) one.setAttribute(name, attributes[name]);
    if (text !== undefined) one.textContent = text;
    return one;
  };
  // Columns of dots with their median, over one vertical axis.
  const dots = (label, groups, words, band) => {
    const all = groups.flatMap(group => group.values).concat(band || []);
    let low = Math.min(...all), high = Math.max(...all);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    low -= room; high += room;
    const left = 90, step = Math.max(110, Math.min(260, 620 / groups.length)), height = 200;
    const width = left + step * groups.length + 16;
    const y = value => 12 + height * (high - value) / (high - low);
    const picture = svg('svg', {class: 'wg-picture', viewBox: `0 0 ${width} ${height + 44}`,
      width, height: height + 44, role: 'img', 'aria-label': label});
    if (band) picture.append(svg('rect', {class: 'wg-tolerance', x: left, width: width - left - 16,
      y: y(band[1]), height: y(band[0]) - y(band[1])}));
    for (let at = 0; at <= 4; at++) {
      const value = low + (high - low) * at / 4;
      picture.append(svg('path', {class: 'wg-grid', d: `M${left} ${y(value)}H${width - 16}`}),
        svg('text', {class: 'wg-text wg-end', x: left - 8, y: y(value) + 4}, words(value)));
    }
    groups.forEach((group, at) => {
      const middle = left + step * (at + 0.5), sorted = [...group.values].sort((a, b) => a - b);
      const half = sorted.length >> 1;
      const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
      const part = svg('g', {class: `wg-c${group.colour}`});
      part.append(svg('path', {class: 'wg-bar', d: `M${middle - 30} ${y(median)}h60`}));
      group.values.forEach((value, n) => {
        const x = middle + (group.values.length < 2 ? 0
          : (n / (group.values.length - 1) - 0.5) * Math.min(step - 24, 12 * group.values.length));
        const dot = svg('circle', {class: 'wg-dot', cx: x, cy: y(value), r: 4});
        dot.append(svg('title', {}, words(value)));
        part.append(dot);
      });
      picture.append(part, svg('text', {class: 'wg-text wg-middle', x: middle, y: height + 34}, group.name));
    });
    const scroll = make('div', undefined, {className: 'scroll', tabIndex: 0});
    scroll.setAttribute('role', 'region');
    scroll.setAttribute('aria-label', label);
    scroll.append(picture);
    return scroll;
  };
  const listed = (heads, lines) => {
    const one = make('table'), head = one.createTHead().insertRow(), rest = one.createTBody();
    heads.forEach((text, at) => head.append(make('th', text, {scope: 'col', className: at ? 'n' : ''})));
    for (const [name, ...values] of lines) {
      const line = rest.insertRow();
      line.append(make('th', name, {scope: 'row'}), ...values.map(text => make('td', text, {className: 'n'})));
    }
    return one;
  };
  const counter = value => value === undefined || value === null ? '–'
    : Math.abs(value) >= 1e6 ? value.toExponential(3).replace('e+', 'e') : String(value);
  const fill = at => {
    const close = make('button', 'Close', {type: 'button'});
    close.addEventListener('click', () => dialog.close());
    const parts = [make('h2', keys[at], {id: 'row-name', tabIndex: -1}),
      make('p', `${data.outcomes[rows.outcome[at]]}, ${rows.clock[at]} time. ${rows.told[at]}`)];
    const groups = ['baseline', 'candidate'].flatMap((side, colour) => {
      const sessions = data.medians[side][at].map(one => one.filter(value => value !== null));
      return sessions.map((values, n) => ({values, colour,
        name: sessions.length > 1 ? `${side} ${n + 1}` : side}));
    }).filter(group => group.values.length);
    if (groups.length) parts.push(make('h3', 'Process medians'), dots('Process medians', groups, seconds));
    const pairs = data.pairs[at].filter(value => value !== null), tolerance = rows.tolerance[at];
    if (pairs.length) parts.push(make('h3', 'Change in each pair; band: tolerance'),
      dots('Change in each pair', [{name: `${pairs.length} pairs`, values: pairs, colour: 1}], percent,
        tolerance === null ? null : [-tolerance, tolerance]));
    if (rows.resources[at].length) parts.push(make('h3', 'Resources that differ'),
      listed(['', 'baseline', 'candidate'], rows.resources[at]));
    const counters = data.counters.filter(([, a, b]) => at in a || at in b);
    if (counters.length) parts.push(make('h3', 'Counters'), listed(['', 'baseline', 'candidate'],
      counters.map(([name, a, b]) => [name, counter(a[at]), counter(b[at])])));
    dialog.replaceChildren(...parts, make('p'));
    dialog.lastChild.append(close);
  };
  const open = () => {
    let key = '';
    try { key = decodeURIComponent(location.hash); } catch (fault) { return; }
    const at = key.startsWith('#row=') ? numbers.get(key.slice(5)) : undefined;
    if (at === undefined) { if (dialog.open) dialog.close(); return; }
    fill(at);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    document.getElementById('row-name').focus();
  };
  dialog.addEventListener('close', () => {
    if (location.hash.startsWith('#row=')) history.replaceState(null, '', location.pathname + location.search);
  });
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  addEventListener('hashchange', open);

  addEventListener('keydown', event => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !typing && !dialog.open) { event.preventDefault(); search.focus(); return; }
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step || dialog.open || event.target === filter) return;
    const shown = [...body.rows].map(tr => tr.querySelector('a'));
    const at = shown.indexOf(document.activeElement);
    if (at < 0 && event.target !== search) return;
    event.preventDefault();
    (at + step < 0 ? search : shown[Math.min(at + step, shown.length - 1)] || search).focus();
  });
  show();
  open();
})();
