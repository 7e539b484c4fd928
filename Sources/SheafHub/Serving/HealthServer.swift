import SheafInspector
import SheafStore

/// The web server of a hub: `/live`, `/ready` and `/metrics`.
final class HealthServer: Sendable {
    private let server: HTTPServer
    let port: UInt16

    init(
        at text: String, port: UInt16, _ store: Store, _ status: @escaping @Sendable () -> HubStatus
    ) throws(HubError) {
        guard let address = ListeningAddress(text, port: port) else {
            throw HubError(
                "health checks cannot be served on '\(text)': it is not a numeric address, such as "
                    + "127.0.0.1 or ::1")
        }
        do throws(InspectorError) {
            server = try HTTPServer(at: address, HealthRoutes(store, status))
        } catch {
            throw HubError("health checks cannot be served on \(address.host):\(port): \(error)")
        }
        self.port = server.port
    }

    /// Ends all connections; called once.
    func stop() {
        server.stop()
    }
}

/// The requests that the web server of a hub answers.
struct HealthRoutes: HTTPHandler {
    private static let methods = ["GET", "HEAD"]
    private static let maximumHeaderLength = 16 << 10

    private let store: Store
    private let status: @Sendable () -> HubStatus

    init(_ store: Store, _ status: @escaping @Sendable () -> HubStatus) {
        self.store = store
        self.status = status
    }

    func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard request.headerLength <= Self.maximumHeaderLength else {
            return text(431, "the header has more than \(Self.maximumHeaderLength) bytes")
        }
        guard ["/live", "/ready", "/metrics"].contains(request.path) else {
            return text(404, "the paths are /live, /ready and /metrics")
        }
        guard Self.methods.contains(request.method) else {
            var response = text(405, "the method of \(request.path ?? "") is GET")
            response.fields = [("Allow", "GET, HEAD")]
            return response
        }
        guard request.announcedLength ?? 0 == 0, request.values(of: "transfer-encoding").isEmpty
        else { return text(413, "the request has a body, and none is expected") }
        return nil
    }

    nonisolated(nonsending) func answer(_ request: HTTPRequest) async -> HTTPResponse {
        let status = status()
        switch request.path {
        case "/live":
            return status.isLive
                ? text(200, "live") : text(503, "the thread of the peer does not respond")
        case "/ready":
            return status.isReady
                ? text(200, "ready") : text(503, status.reasons.joined(separator: "\n"))
        default:
            do {
                let metrics = try await MetricsAnswer.text(of: store)
                return HTTPResponse(200, MetricsAnswer.contentType, .bytes(Array(metrics.utf8)))
            } catch {
                return text(500, "\(error)")
            }
        }
    }

    private func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(status, "text/plain; charset=utf-8", .bytes(Array((text + "\n").utf8)))
    }
}
