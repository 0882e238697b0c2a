// The pointer's moment in all charts, and the values of the topic below it. Everything that matters is drawn without this.
const data = JSON.parse(document.getElementById('data').textContent)
const box = document.getElementById('values')
const clock = (s) => s < 60 ? s.toFixed(1) + ' s' : Math.floor(s / 60) + ':' + String(Math.floor(s % 60)).padStart(2, '0')
const row = (name, value) => name.padEnd(12) + String(value).padStart(10)

function values(topic, bin) {
  const lines = [clock(bin * data.seconds)]
  if (topic) {
    const sum = (of) => Object.values(of).reduce((all, each) => all + each[bin], 0)
    if (topic.limit[bin] !== null) lines.push(row('limit', topic.limit[bin] + '/s'))
    if (Object.keys(topic.admitted).length) lines.push(row('admitted', sum(topic.admitted).toFixed(1) + '/s'))
    for (const [broker, each] of Object.entries(topic.admitted)) {
      lines.push(row('  ' + broker, each[bin] + '/s') + (topic.held[broker] ? '  of its ' + topic.held[broker][bin] : ''))
    }
    if (topic.p50[bin] !== null) lines.push(row('median', topic.p50[bin] + ' ms'), row('99%', topic.p99[bin] + ' ms'))
  }
  return lines.join('\n')
}

for (const chart of document.querySelectorAll('svg.chart')) {
  chart.addEventListener('mousemove', (event) => {
    const area = chart.getBoundingClientRect()
    const part = ((event.clientX - area.left) / area.width - data.left) / (1 - data.left - data.right)
    if (part < 0 || part > 1) return hide()
    const bin = Math.min(data.bins - 1, Math.floor(part * data.bins))
    const x = (data.left + part * (1 - data.left - data.right)) * data.width
    for (const line of document.querySelectorAll('line.cross')) { line.setAttribute('x1', x); line.setAttribute('x2', x) }
    box.textContent = values(data.topics[chart.closest('section').dataset.topic], bin)
    box.hidden = false
    box.style.left = Math.min(event.clientX + 16, innerWidth - box.offsetWidth - 8) + 'px'
    box.style.top = Math.min(event.clientY + 16, innerHeight - box.offsetHeight - 8) + 'px'
  })
  chart.addEventListener('mouseleave', hide)
}

function hide() {
  box.hidden = true
  for (const line of document.querySelectorAll('line.cross')) { line.setAttribute('x1', -9); line.setAttribute('x2', -9) }
}
