"""Receives the events of one subscription. `pip install 'pyjwt[crypto]'`; ISSUER, GROUP, SECRET and PORT come from the environment."""
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import jwt

ISSUER, GROUP, PORT = os.environ["ISSUER"], os.environ["GROUP"], int(os.environ.get("PORT", "8090"))
SECRET = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))
KEYS = jwt.PyJWKClient(ISSUER + "/.well-known/jwks.json")

def is_genuine(headers, body):
    token = headers["Authorization"].removeprefix("Bearer ")
    key = KEYS.get_signing_key_from_jwt(token).key
    claims = jwt.decode(token, key, ["ES256"], audience="customer", issuer=ISSUER)
    is_for_us = claims["sub"] == "webhook:" + GROUP and abs(time.time() - int(headers["webhook-timestamp"])) < 300
    is_its_body = claims["webhook"]["digest"] == "sha256:" + hashlib.sha256(body).hexdigest()
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = "v1," + base64.b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
    return is_for_us and is_its_body and any(hmac.compare_digest(s, right) for s in headers["webhook-signature"].split())

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 20))
        is_event = self.headers["ce-specversion"] == "1.0" and "ce-id" in self.headers
        try:
            is_accepted = is_event and is_genuine(self.headers, body)
        except Exception as error:  # something is missing, malformed, or not signed by the platform
            is_accepted = print("refused:", error, flush=True)
        if is_accepted:
            print(self.headers["ce-id"], self.headers["ce-type"], json.loads(body)["body"], flush=True)
        refusal = 400 if not is_event else 403 if "Authorization" in self.headers else 401
        self.send_response(200 if is_accepted else refusal)
        self.end_headers()

server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
print("listening", flush=True)
server.serve_forever()
