"""Starts LocalStack without Docker: functions run as processes, and DynamoDB Local as a Java program.

    start.py PORT FOLDER

FOLDER holds the jars of DynamoDB Local. State and temporary files are in TMPDIR. A signal ends it at once.
"""

import gzip
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import zlib

port, jars = sys.argv[1:]
os.environ.update({
    "GATEWAY_LISTEN": f"127.0.0.1:{port}",
    "LOCALSTACK_HOST": f"127.0.0.1:{port}",
    "FILESYSTEM_ROOT": tempfile.gettempdir(),
    "LAMBDA_KEEPALIVE_MS": "600000",
    "DISABLE_EVENTS": "1",  # no telemetry
    "SKIP_SSL_CERT_DOWNLOAD": "1",
    "DNS_ADDRESS": "0",  # no DNS server
    "SQS_DISABLE_CLOUDWATCH_METRICS": "1",
})

from localstack import config  # noqa: E402
from localstack.aws.handlers.codec import ContentDecoder  # noqa: E402
from localstack.logging.setup import setup_logging_from_config  # noqa: E402
from localstack.runtime.current import initialize_runtime  # noqa: E402
from localstack.services.apigateway.next_gen.execute_api.gateway_response import UnsupportedMediaTypeError  # noqa: E402
from localstack.services.apigateway.next_gen.execute_api.handlers.gateway_exception import GatewayExceptionHandler  # noqa: E402
from localstack.services.apigateway.next_gen.execute_api.handlers.parse import InvocationRequestParser  # noqa: E402
from localstack.services.cloudformation.resource_provider import ResourceProviderExecutor  # noqa: E402
from localstack.services.dynamodb.server import DynamodbServer  # noqa: E402
from localstack.services.lambda_.invocation import version_manager  # noqa: E402
from localstack.services.lambda_.invocation.lambda_models import InvocationResult  # noqa: E402
from localstack.services.lambda_.invocation.plugins import DockerRuntimeExecutorPlugin  # noqa: E402
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor  # noqa: E402
from localstack.utils.threads import start_thread  # noqa: E402
from werkzeug import Request, Response  # noqa: E402
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402


class Function(RuntimeExecutor):
    """Runs one environment of a function: the file bootstrap of its code, as a process."""

    running = {}  # by id

    def start(self, env_vars):
        self.calls, self.answers = queue.Queue(), queue.Queue()
        self.running[self.id] = self
        code = str(self.function_version.config.code.get_unzipped_code_location())
        program = os.path.join(code, "bootstrap")
        os.chmod(program, 0o755)
        env = {name: str(value) for name, value in env_vars.items() if value is not None}
        env["AWS_LAMBDA_RUNTIME_API"] = f"127.0.0.1:{runtime.server_port}/{self.id}"
        env["AWS_ENDPOINT_URL_DYNAMODB"] = DynamodbServer.get().url  # LocalStack would forward each call
        self.process = subprocess.Popen([program], cwd=code, env=env)
        threading.Thread(target=self.report_end, daemon=True).start()

    def report_end(self):
        code = self.process.wait()
        self.answer(b'{"errorType": "Runtime.ExitError", "errorMessage": "exit status %d"}' % code, is_error=True)

    def answer(self, body, is_error, call=""):
        self.answers.put(InvocationResult(call, body, is_error, logs=""))

    def invoke(self, payload):
        self.calls.put(payload)
        try:
            return self.answers.get(timeout=self.function_version.config.timeout)
        except queue.Empty:
            self.process.kill()  # notifies the caller
            return self.answers.get()

    def stop(self):
        self.running.pop(self.id, None)
        self.process.kill()
        self.calls.put(None)

    def get_address(self):
        return "127.0.0.1"

    get_endpoint_from_executor = get_address

    def get_runtime_endpoint(self):
        return ""

    get_logs = get_runtime_endpoint  # the process logs to this log

    @classmethod
    def prepare_version(cls, function_version):
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        pass


@Request.application
def serve(request):
    """Serves the Lambda runtime API below the id of each environment."""
    _, id, _, _, _, *rest = request.path.split("/")  # /ID/2018-06-01/runtime/{invocation/next, invocation/CALL/{response,error}, init/error}
    function = Function.running[id]
    if rest != ["next"]:
        function.answer(request.get_data(), is_error=rest[-1] == "error", call=rest[0])
        return Response(status=202)
    call = function.calls.get()
    if call is None:
        return Response(status=410)
    return Response(call["payload"], content_type="application/json", headers={
        "Lambda-Runtime-Aws-Request-Id": call["invoke-id"],
        "Lambda-Runtime-Deadline-Ms": int((time.time() + function.function_version.config.timeout) * 1000),
        "Lambda-Runtime-Invoked-Function-Arn": call["invoked-function-arn"],
        "Lambda-Runtime-Trace-Id": call["trace-id"],
    })


class Quiet(WSGIRequestHandler):
    def log_request(self, *_):
        pass


def start_dynamodb(server):
    """Starts DynamoDB Local in the process group of this program, so that it ends with it."""
    java = subprocess.Popen([
        "java", "-Xmx512m", f"-Djava.library.path={jars}", "-cp", f"{jars}/*", "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
        "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(server.port),
    ])
    return start_thread(lambda _: java.wait(), name="dynamodb-local")


def create_gateway_response(self, exception, context, create=GatewayExceptionHandler.create_exception_response):
    """Makes an answer of the gateway from its API's gateway response, of which LocalStack takes the status alone."""
    made = create(self, exception, context)
    if response := context.deployment.rest_api.gateway_responses.get(exception.type):
        request = context.context_variables["requestId"]
        made.data = response["responseTemplates"]["application/json"].replace("$context.requestId", request)
        for name, value in response["responseParameters"].items():
            made.headers[name.removeprefix("gatewayresponse.header.")] = value.replace("context.requestId", request).strip("'")
    return made


def parse(self, chain, context, response, original=InvocationRequestParser.__call__):
    """Decompresses a body as the gateway of AWS does: the header stays, and other codings get 415."""
    original(self, chain, context, response)
    request = context.invocation_request
    coding = request["headers"].get("Content-Encoding", "identity").lower()
    try:
        if coding != "identity":
            request["body"] = {"gzip": gzip.decompress, "deflate": zlib.decompress}[coding](request["body"])
    except (KeyError, OSError, EOFError, zlib.error):
        raise UnsupportedMediaTypeError() from None


def decode(self, chain, context, response, original=ContentDecoder.__call__):
    """Leaves compressed requests to an API to the gateway."""
    if not context.request.path.startswith("/_aws/execute-api/"):
        original(self, chain, context, response)


ContentDecoder.__call__ = decode
# polls faster than once a second
ResourceProviderExecutor.deploy_loop.__defaults__ = (config.CFN_PER_RESOURCE_TIMEOUT, 0.05)
DockerRuntimeExecutorPlugin.load = lambda *_, **__: Function
# Each invocation puts a metric that nothing reads, which takes a third of the processor time.
version_manager.record_cw_metric_invocation = version_manager.record_cw_metric_error = lambda **_: None
DynamodbServer.do_start_thread = start_dynamodb
GatewayExceptionHandler.create_exception_response = create_gateway_response

InvocationRequestParser.__call__ = parse
runtime = make_server("127.0.0.1", 0, serve, threaded=True, request_handler=Quiet)
threading.Thread(target=runtime.serve_forever, daemon=True).start()
setup_logging_from_config()
initialize_runtime().run()
