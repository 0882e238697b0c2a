'use strict'
// Lets a test use nsqjs as an application would: a command a line comes in, an event a line goes out.
const fs = require('fs')
const nsq = require('nsqjs')
const readline = require('readline')

const RECONNECT_MS = 200
const senders = new Map()
const messages = new Map()
let lastMessage = 0

function tell(event) {
  process.stdout.write(JSON.stringify(event) + '\n')
}

// A Writer is for one broker and one connection: to go on is the application's part.
function connect(sender) {
  const [host, port] = sender.addresses[sender.next++ % sender.addresses.length].split(':')
  const writer = new nsq.Writer(host, Number(port), sender.options)
  writer.on('ready', () => {
    sender.writer = writer
    tell({sender: sender.id, ready: true})
  })
  writer.on('error', (error) => tell({sender: sender.id, error: String(error)}))
  writer.on('closed', () => {
    sender.writer = null
    setTimeout(() => connect(sender), RECONNECT_MS)
  })
  writer.connect()
}

function withFiles(options) {
  return options.ca ? {...options, ca: fs.readFileSync(options.ca)} : options
}

const commands = {
  send({id, addresses, options}) {
    const sender = {id, addresses, options: withFiles(options), next: 0, writer: null}
    senders.set(id, sender)
    connect(sender)
  },

  publish({id, ticket, topic, bodies}) {
    const writer = senders.get(id).writer
    if (!writer) {
      tell({ticket, error: 'not connected'})
      return
    }
    writer.publish(topic, bodies, (error) => tell(error ? {ticket, error: String(error)} : {ticket}))
  },

  receive({id, addresses, topic, channel, options}) {
    const reader = new nsq.Reader(topic, channel, {...withFiles(options), nsqdTCPAddresses: addresses})
    reader.on('error', (error) => tell({receiver: id, error: String(error)}))
    reader.on('message', (message) => {
      messages.set(++lastMessage, message)
      tell({receiver: id, message: lastMessage, body: message.body.toString(), attempts: message.attempts})
    })
    reader.connect()
  },

  answer({message, requeue}) {
    const answered = messages.get(message)
    messages.delete(message)
    if (requeue) {
      answered.requeue(10, false)
    } else {
      answered.finish()
    }
  },
}

readline
  .createInterface({input: process.stdin})
  .on('line', (line) => {
    const command = JSON.parse(line)
    commands[command.do](command)
  })
  .on('close', () => process.exit(0))
