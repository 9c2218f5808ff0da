/** The page's one door to the server: JSON and the binary ranking. */

/** The server refused: `message` is its sentence, `status` the HTTP status; `isDenied`: this user may not do it. */
export class ApiError extends Error {
  constructor(message, status, isDenied = false) {
    super(message);
    this.status = status;
    this.isDenied = isDenied;
  }
}

/** The server could not be reached; the same request may succeed later. */
export class OfflineError extends Error {}

const UNREACHABLE = new Set([502, 504]);
const FORBIDDEN = 403;
const OTHER_PROJECT = 412;
const EARLIER = "This page belongs to an earlier review. Open the address that tagloom review printed last.";

let project = null;

/**
 * From now on every request names this project: a server that reviews another one by then refuses it.
 * @param {string} id
 */
export function bind(id) {
  project ??= id;
}

/** @param {unknown} error @returns {boolean} whether another project is reviewed at this address now */
export function isForeign(error) {
  return error instanceof ApiError && error.status === OTHER_PROJECT;
}

async function request(path, init = {}) {
  const headers = { ...init.headers, ...(project === null ? {} : { "X-Tagloom-Project": project }) };
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...init, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new OfflineError("The server does not answer.");
  }
  if (UNREACHABLE.has(response.status)) throw new OfflineError("The server cannot be reached.");
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  let found = {};
  try {
    found = await response.json();
  } catch {
    // An answer of something in between.
  }
  if (response.status === FORBIDDEN && !found.denied) return new ApiError(EARLIER, FORBIDDEN);
  return new ApiError(found.error ?? response.statusText, response.status, Boolean(found.denied));
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/** @param {string} path @param {object} [body] @returns {Promise<any>} */
export async function post(path, body = {}) {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return (await request(path, init)).json();
}

/**
 * @typedef {{n: number, sort: string, version: number, ids: Int32Array, values: Float32Array | null}} Ranking
 */

/**
 * The order of photos for a query.
 * @param {Record<string, string | number | null | undefined>} query
 * @param {AbortSignal} [signal]
 * @returns {Promise<Ranking>}
 */
export async function ranking(query, signal) {
  const response = await request(`/api/v1/ranking${queryString(query)}`, { signal });
  return decodeRanking(await response.arrayBuffer());
}

/** @param {ArrayBuffer} buffer @returns {Ranking} */
function decodeRanking(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = Math.ceil((4 + length) / 4) * 4;
  const ids = new Int32Array(buffer, start, header.n);
  const values = header.has_values ? new Float32Array(buffer, start + 4 * header.n, header.n) : null;
  return { n: header.n, sort: header.sort, version: header.version, ids, values };
}

/**
 * Parameters that are set, as a query string; empty ones are left out.
 * @param {Record<string, any>} query
 * @returns {string}
 */
function queryString(query) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(key, String(value));
  }
  const text = parameters.toString();
  return text ? `?${text}` : "";
}
