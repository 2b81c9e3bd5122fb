'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const trs = [...document.querySelectorAll('.rows tr[id]')];
  const numbers = new Map(data.map((one, at) => [one.key, at]));
  const names = new Map(trs.map(tr => [tr, tr.id.slice(4).toLowerCase()]));
  for (const tr of trs) tr.removeAttribute('id');  // a link opens the row's page, and moves no focus

  const make = (tag, text, more) => {
    const one = Object.assign(document.createElement(tag), more || {});
    if (text !== undefined) one.textContent = text;
    return one;
  };

  // Groups within tolerance are folded until their title is pressed; a search opens all of them.
  const groups = [...document.querySelectorAll('.rows tbody')];
  const search = make('input', undefined, {type: 'search', placeholder: 'Search ( / )'});
  search.setAttribute('aria-label', 'Search benchmarks by name');
  const told = make('span');
  told.setAttribute('role', 'status');
  document.getElementById('tools').prepend(search, told);
  const fold = (group, folded) => {
    group.classList.toggle('folded', folded);
    group.querySelector('button').setAttribute('aria-expanded', !folded);
  };
  for (const group of document.querySelectorAll('[data-folded]')) {
    const title = group.querySelector('.title'), button = make('button', title.textContent, {type: 'button'});
    title.replaceChildren(button);
    button.addEventListener('click', () => fold(group, !group.classList.contains('folded')));
    fold(group, true);
  }
  search.addEventListener('input', () => {
    const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [tr, name] of names) {
      tr.hidden = !parts.every(part => name.includes(part));
      count += !tr.hidden;
    }
    for (const group of groups) {
      group.hidden = ![...group.rows].some(tr => !tr.hidden && names.has(tr));
      if ('folded' in group.dataset) fold(group, !parts.length);
    }
    told.textContent = parts.length ? `${count} of ${trs.length}` : '';
  });
  const all = open => {
    for (const group of document.querySelectorAll('[data-folded]')) fold(group, !open);
    for (const one of document.querySelectorAll('details')) one.open = open;
  };
  addEventListener('beforeprint', () => all(true));
  addEventListener('afterprint', () => all(false));

  // A row's own page.
  const dialog = make('dialog');
  dialog.setAttribute('aria-labelledby', 'row-name');
  document.body.append(dialog);
  const seconds = value => {
    for (const [size, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']])
      if (value >= size) return `${(value / size).toPrecision(4)} ${unit}`;
    return `${(value * 1e9).toPrecision(4)} ns`;
  };
  const percent = value => `${value > 0 ? '+' : value < 0 ? '−' : ''}${+Math.abs(100 * value).toPrecision(3)} %`;
  const svg = (tag, attributes, text) => {
    const one = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const name in attributes) one.setAttribute(name, attributes[name]);
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const scrolled = (label, picture) => {
    const one = make('div', undefined, {className: 'scroll', tabIndex: 0});
    one.setAttribute('role', 'region');
    one.setAttribute('aria-label', label);
    one.append(picture);
    return one;
  };
  // Columns of dots with their median; those of pairs stand in their order, over the interval and
  // the tolerance of all.
  const dots = (label, groups, words, pairs) => {
    const known = pairs ? [pairs.interval, pairs.tolerance].filter(Boolean) : [];
    const all = groups.flatMap(group => group.values).concat(...known);
    let low = Math.min(...all), high = Math.max(...all);
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    low -= room; high += room;
    const left = 90, height = 200;
    const step = pairs ? 620 : Math.max(110, Math.min(260, 620 / groups.length));
    const right = left + step * groups.length, width = right + 16;
    const y = value => 12 + height * (high - value) / (high - low);
    const picture = svg('svg', {class: 'wg-picture', viewBox: `0 0 ${width} ${height + 44}`,
      width, height: height + 44, role: 'img', 'aria-label': label});
    const band = (kind, ends) => ends && picture.append(svg('rect', {class: kind, x: left,
      width: right - left, y: y(ends[1]), height: Math.max(y(ends[0]) - y(ends[1]), 1)}));
    const across = (kind, value) => picture.append(svg('path', {class: kind, d: `M${left} ${y(value)}H${right}`}));
    if (pairs) { band('wg-tolerance', pairs.tolerance); band('wg-band wg-c6', pairs.interval); }
    const power = 10 ** Math.floor(Math.log10((high - low) / 6));
    const tick = power * [1, 2, 5, 10].find(one => (high - low) / (power * one) <= 6);
    for (let n = Math.ceil(low / tick); n * tick <= high; n++) {
      const value = n * tick;
      across('wg-grid', value);
      picture.append(svg('text', {class: 'wg-text wg-end', x: left - 8, y: y(value) + 4}, words(value)));
    }
    if (pairs && low < 0 && high > 0) across('wg-zero wg-ink', 0);
    if (pairs && pairs.middle !== null) across('wg-whisker wg-c6', pairs.middle);
    groups.forEach((group, at) => {
      const middle = left + step * (at + 0.5), last = group.values.length - 1;
      const part = svg('g', {class: `wg-c${group.colour}`});
      if (!pairs) {
        const sorted = [...group.values].sort((a, b) => a - b), half = sorted.length >> 1;
        const median = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        part.append(svg('path', {class: 'wg-whisker', d: `M${middle - 36} ${y(median)}h72`}));
      }
      const wide = pairs ? step - 32 : Math.min(step - 24, 12 * last);
      group.values.forEach((value, n) => {
        const dot = svg('circle', {class: 'wg-dot', r: 4, cy: y(value),
          cx: middle + (last ? (n / last - 0.5) * wide : 0)});
        dot.append(svg('title', {}, `${n + 1}: ${words(value)}`));
        part.append(dot);
      });
      picture.append(part, svg('text', {class: 'wg-text wg-middle', x: middle, y: height + 34}, group.name));
    });
    return scrolled(label, picture);
  };
  const listed = (heads, lines) => {
    const one = make('table', undefined, {className: 'sides'}), head = one.createTHead().insertRow(), rest = one.createTBody();
    heads.forEach((text, at) => head.append(at ? make('th', text, {scope: 'col', className: 'n'}) : make('td')));
    for (const [name, ...values] of lines) {
      const line = rest.insertRow();
      if (values[0] !== values[1] && values[0] !== '–') line.className = 'differs';
      line.append(make('th', name, {scope: 'row'}),
        ...values.map(text => make('td', text, {className: name === 'kernel' ? '' : 'n'})));
    }
    return one;
  };
  const sides = ['', 'baseline', 'candidate'];
  const fill = at => {
    const close = make('button', 'Close', {type: 'button', className: 'close'});
    close.addEventListener('click', () => dialog.close());
    const one = data[at], parts = [close];
    const part = (title, ...nodes) => parts.push(make('h3', title), ...nodes);
    const verdict = make('p', one.told);
    verdict.prepend(make('strong', one.word, {className: one.word.replace(/ /g, '-')}), ' · ');
    parts.push(make('h2', one.key, {id: 'row-name', tabIndex: -1}), verdict);
    if (one.why) {
      const [paragraph, moved] = one.why, heads = ['cause', 'what moved', 'baseline', 'candidate'];
      part('Why it is slower', make('p', paragraph), ...(moved.length ? [scrolled('What moved', listed(heads, moved))] : []));
    }
    const groups = ['baseline', 'candidate'].flatMap((side, colour) => {
      const sessions = one.medians[colour].map(values => values.filter(value => value !== null));
      return sessions.map((values, n) => ({values, colour,
        name: sessions.length > 1 ? `${side} ${n + 1}` : side}));
    }).filter(group => group.values.length);
    if (groups.length) part('Process medians', dots('Process medians', groups, seconds));
    const pairs = one.pairs.filter(value => value !== null), tolerance = one.tolerance;
    const [middle, low, high] = one.interval;
    if (pairs.length) part('Change in each pair', dots('Change in each pair',
      [{name: `${pairs.length} pairs in their order`, values: pairs, colour: 1}], percent,
      {middle, interval: low === null || high === null ? null : [low, high],
       tolerance: tolerance === null ? null : [-tolerance, tolerance]}),
      make('p', 'Grey: the tolerance. Violet: the change and its 95 % interval.', {className: 'faint'}));
    const past = document.querySelector(`[data-history="${CSS.escape(one.key)}"] svg`);
    if (past) part('History', scrolled('History', past.cloneNode(true)));
    const kernels = one.kernels.some(Boolean) ? [['kernel', ...one.kernels]] : [];
    const inner = kernels.concat(one.counters);
    if (inner.length) part('Kernels and counters', scrolled('Kernels and counters', listed(sides, inner)));
    dialog.replaceChildren(...parts);
  };
  let address = '';
  const open = () => {
    let key = '';
    try { key = decodeURIComponent(location.hash); } catch (fault) { return; }
    const at = key.startsWith('#row=') ? numbers.get(key.slice(5)) : undefined;
    if (at === undefined) { if (dialog.open) dialog.close(); return; }
    address = location.hash;
    fill(at);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    document.getElementById('row-name').focus();
  };
  dialog.addEventListener('close', () => {  // unless another row is about to open
    if (location.hash === address) history.replaceState(null, '', location.href.split('#')[0]);
  });
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  addEventListener('hashchange', open);

  addEventListener('keydown', event => {
    if (event.key !== '/' || event.target === search || dialog.open) return;
    event.preventDefault();
    search.focus();
  });
  open();
})();
