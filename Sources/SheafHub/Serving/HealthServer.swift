package import SheafInspector
import SheafStore
import Synchronization

/// The web server of a hub: `/live`, `/ready` and `/metrics`.
package final class HealthServer: Sendable {
    private let server: HTTPServer
    private let routes: HealthRoutes
    let port: UInt16

    /// Starts a server, which shows that the hub is being opened.
    init(at text: String, port: UInt16) throws(HubError) {
        guard let address = ListeningAddress(text, port: port) else {
            throw HubError(
                "health checks cannot be served on '\(text)': it is not a numeric address, such as "
                    + "127.0.0.1 or ::1")
        }
        routes = HealthRoutes()
        var limits = ServerLimits()
        (limits.connections, limits.seconds) = (Self.connections, Self.seconds)
        do throws(InspectorError) {
            server = try HTTPServer(at: address, routes, limits: limits)
        } catch {
            throw HubError("health checks cannot be served on \(address.host):\(port): \(error)")
        }
        self.port = server.port
    }

    /// Limits with which clients that send nothing do not keep others waiting for long.
    package static let connections = 256
    package static let seconds = 2

    /// Shows why the hub is not open yet.
    func setReason(_ reason: String) {
        routes.source.withLock { $0 = .opening(reason) }
    }

    /// Shows the state of the open hub.
    func setOpen(_ store: Store, _ status: @escaping @Sendable () -> HubStatus) {
        routes.source.withLock { $0 = .open(store, status) }
    }

    /// Ends all connections; called once.
    func stop() {
        server.stop()
    }
}

/// The requests that the web server of a hub answers.
package final class HealthRoutes: HTTPHandler {
    enum Source: Sendable {
        case opening(String)
        case open(Store, @Sendable () -> HubStatus)
    }

    private static let methods = ["GET", "HEAD"]
    /// Maximum length of the request line and of the header.
    package static let maximumHeaderLength = 16 << 10
    /// Connections that stay open would keep others waiting.
    private static let fields = [(name: "Connection", value: "close")]

    let source = Mutex(Source.opening("the hub is being opened"))

    package init() {}

    package func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard request.headerLength <= Self.maximumHeaderLength else {
            return text(431, "the header has more than \(Self.maximumHeaderLength) bytes")
        }
        guard ["/live", "/ready", "/metrics"].contains(request.path) else {
            return text(404, "the paths are /live, /ready and /metrics")
        }
        guard Self.methods.contains(request.method) else {
            var response = text(405, "the method of \(request.path ?? "") is GET")
            response.fields.append(("Allow", "GET, HEAD"))
            return response
        }
        guard request.announcedLength ?? 0 == 0, request.values(of: "transfer-encoding").isEmpty
        else { return text(413, "the request has a body, and none is expected") }
        return nil
    }

    package nonisolated(nonsending) func answer(_ request: HTTPRequest) async -> HTTPResponse {
        switch source.withLock({ $0 }) {
        case .open(let store, let status): return await answer(request, store, status())
        case .opening(let reason):
            return request.path == "/live" ? text(200, "live") : text(503, reason)
        }
    }

    private nonisolated(nonsending) func answer(
        _ request: HTTPRequest, _ store: Store, _ status: HubStatus
    ) async -> HTTPResponse {
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
                return HTTPResponse(
                    200, MetricsAnswer.contentType, .bytes(Array(metrics.utf8)), fields: Self.fields
                )
            } catch {
                return text(500, "\(error)")
            }
        }
    }

    private func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status, "text/plain; charset=utf-8", .bytes(Array((text + "\n").utf8)),
            fields: Self.fields)
    }
}
