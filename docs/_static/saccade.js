/* SPDX-FileCopyrightText: 2026 The Saccade authors */
/* SPDX-License-Identifier: Apache-2.0 */

// Each cell after the first knows the head of its column, which saccade.css shows on a phone.
for (const table of document.querySelectorAll('article table')) {
  const heads = [...(table.tHead?.rows[0].cells ?? [])].map(head => head.textContent.trim());
  for (const row of table.tBodies[0]?.rows ?? []) {
    [...row.cells].forEach((cell, column) => {
      if (column && heads[column]) cell.dataset.label = heads[column];
    });
  }
}

// What scrolls can be scrolled with the keyboard.
for (const box of document.querySelectorAll('.table-wrapper, pre, mjx-container')) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
