/**
 * One stream for all tabs of a project: a browser holds no more than six connections to a server, and a stream takes
 * one for as long as it is open. The worker's name is the project.
 */

import { Stream } from "./stream.js";

const ports = new Set();
let link = null;
/** Up to where the news have been heard. */
let heard = null;

addEventListener("connect", ({ ports: [port] }) => {
  ports.add(port);
  port.addEventListener("message", () => ports.delete(port)); // the one thing a tab says is that it goes
  port.start();
  if (link) port.postMessage(link);
  if (heard) port.postMessage(heard);
});

new Stream(self.name, (message) => {
  if (message.link) link = message;
  else heard = { link: false, type: "alive", data: {}, id: message.id };
  for (const port of ports) port.postMessage(message);
});
