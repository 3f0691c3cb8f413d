// What is tested: a client of the API.

/** The names of all repos. Errors: an Error with the code of the API, after three attempts if it is UNAVAILABLE. */
export async function repoNames({ baseUrl, token }, headers = {}) {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${baseUrl}/registry/v2/repos`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      redirect: "error",
    });
    const body = await response.json();
    if (response.ok) return body.repos.map(({ name }) => name);
    if (response.status !== 503 || attempt === 3) throw new Error(body.message, { cause: body });
  }
}
