import Sheaf
import SheafBytes
import SheafCompletion
import SheafDocument
import SheafStore
import SheafSystem
import Synchronization

/// The requests that an inspector answers (`format-spec/inspector.md`, table 2).
final class Routes: HTTPHandler {
    private enum Route {
        case page(PageFile)
        case about, query, complete, changes, explain, metrics

        var method: String {
            switch self {
            case .query, .complete: "POST"
            case .page, .about, .changes, .explain, .metrics: "GET"
            }
        }

        init?(_ path: String) {
            switch path {
            case "/about": self = .about
            case "/query": self = .query
            case "/complete": self = .complete
            case "/changes": self = .changes
            case "/explain": self = .explain
            case "/metrics": self = .metrics
            default:
                guard let file = PageFile(path: path) else { return nil }
                self = .page(file)
            }
        }
    }

    private let subject: InspectedStore
    private let changes: ChangeFollower
    private let limits: ServerLimits
    private let address: ListeningAddress
    private let token: AccessToken
    private let statementSeconds: Int
    private let completion = StatementCompletion()
    private let gate: StatementGate
    /// The rules of access; nil until the port is known, until when nothing is answered.
    private let rules = Mutex<AccessRules?>(nil)

    init(
        _ subject: InspectedStore, _ changes: ChangeFollower, _ limits: ServerLimits,
        at address: ListeningAddress, _ token: AccessToken, statementSeconds: Int
    ) {
        self.subject = subject
        self.changes = changes
        self.limits = limits
        self.address = address
        self.token = token
        self.statementSeconds = statementSeconds
        gate = StatementGate(limits.statements)
    }

    /// Answers requests from now on, to the port that the server listens on.
    func open(on port: UInt16) {
        rules.withLock { $0 = AccessRules(at: address, port: port, token) }
    }

    // MARK: Refusing

    func refusal(of request: HTTPRequest) -> HTTPResponse? {
        do throws(ErrorAnswer) {
            guard let rules = rules.withLock({ $0 }) else {
                throw ErrorAnswer(503, "the inspector is starting")
            }
            if let error = rules.foreignOrigin(request) { throw error }
            try checkHeader(of: request)
            let route = try Self.route(of: request)
            if let entry = rules.entry(request) { return try entry.get() }
            if let error = rules.missingToken(request) { throw error }
            guard let route, request.parameters != nil else { throw Self.invalidURL }
            try checkBody(of: request, isAwaited: route.method == "POST")
            return nil
        } catch {
            return error.response
        }
    }

    private static let invalidURL = ErrorAnswer(
        400, "the URL of the request has an invalid escape, or is not UTF-8")

    private func checkHeader(of request: HTTPRequest) throws(ErrorAnswer) {
        let limit = limits.headerBytes
        guard request.headerLength > limit else { return }
        var error =
            request.targetLength > limit
            ? ErrorAnswer(414, "the URL of the request has more than \(limit) bytes")
            : ErrorAnswer(
                431, "the request line and the header have more than \(limit) bytes")
        error.fields = [("Connection", "close")]
        throw error
    }

    /// Returns the route of a request; nil if its path is not valid.
    private static func route(of request: HTTPRequest) throws(ErrorAnswer) -> Route? {
        guard let path = request.path else { return nil }
        guard let route = Route(path) else {
            throw ErrorAnswer(404, "there is no path '\(path.shortened)'")
        }
        guard request.method == route.method else {
            var error = ErrorAnswer(
                405, "the path \(path) has no method \(request.method.shortened)",
                hint: "its method is \(route.method)")
            error.fields = [("Allow", route.method)]
            throw error
        }
        return route
    }

    private func checkBody(of request: HTTPRequest, isAwaited: Bool) throws(ErrorAnswer) {
        // Programs disagree about names with a space, and about which of several values counts.
        let problem =
            if let name = request.invalidHeaderName {
                "the request has a header whose name is invalid: '\(name.shortened)'"
            } else if let name = ["Content-Length", "Content-Type"].first(where: {
                request.values(of: HTTPRequest.lowercased($0)).count > 1
            }) {
                "the request has several headers \(name)"
            } else {
                String?.none
            }
        if let problem {
            var error = ErrorAnswer(400, problem)
            error.fields = [("Connection", "close")]
            throw error
        }
        guard request.values(of: "transfer-encoding").isEmpty else {
            throw ErrorAnswer(411, "the length of the body is not known in advance")
        }
        guard request.announcedLength ?? 0 <= UInt64(limits.bodyBytes) else {
            throw ErrorAnswer(413, "the body has more than \(limits.bodyBytes) bytes")
        }
        guard isAwaited else { return }
        guard request.announcedLength != nil else {
            throw ErrorAnswer(411, "the header Content-Length is missing")
        }
        let type = request.values(of: "content-type").first?.split(separator: ";").first ?? ""
        guard HTTPRequest.lowercased(HTTPRequest.trimmed(type)) == "application/json" else {
            throw ErrorAnswer(
                415, "the Content-Type of the request is not application/json")
        }
    }

    // MARK: Answering

    nonisolated(nonsending) func answer(_ request: HTTPRequest) async -> HTTPResponse {
        do {
            return try await answered(request)
        } catch let error as ErrorAnswer {
            return error.response
        } catch let error as StoreError {
            return ErrorAnswer(error).response
        } catch is CancellationError {
            return ErrorAnswer(503, "the inspector is stopping").response
        } catch {
            return ErrorAnswer(500, "\(error)").response
        }
    }

    private nonisolated(nonsending) func answered(
        _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        guard let route = try Self.route(of: request) else { throw Self.invalidURL }
        switch route {
        case .page(let file):
            return HTTPResponse(200, file.contentType, .bytes(file.contents))
        case .about: return Self.json(JSONBytes.of(try subject.about()))
        case .query:
            let statement = try StatementAnswer(request.body)
            return Self.json(
                try await statement.run(on: subject, through: gate, seconds: statementSeconds))
        case .complete:
            return Self.json(try CompletionAnswer(request.body).words(completion, subject))
        case .explain:
            return Self.json(JSONBytes.of(try ExplanationAnswer(request).steps(subject)))
        case .changes: return try changes.response(to: request)
        case .metrics:
            return HTTPResponse(
                200, MetricsAnswer.contentType,
                .bytes(Array(try await MetricsAnswer.text(subject).utf8)))
        }
    }

    private static func json(_ bytes: [UInt8]) -> HTTPResponse {
        HTTPResponse(200, "application/json", .bytes(bytes))
    }
}
