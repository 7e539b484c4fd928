import SheafDocument
import SheafInspector
import Testing

/// Tests of the rules of access, without a server.
@Suite struct AccessRuleTests {
    private let token = AccessToken()

    private func rules(_ address: String, _ port: UInt16 = 4_000) throws -> AccessRules {
        let listening = try #require(ListeningAddress(address, port: port))
        return AccessRules(at: listening, port: port, token)
    }

    private func request(
        _ header: [(name: String, value: String)], _ target: String = "/about"
    ) -> HTTPRequest {
        HTTPRequest(method: "GET", target: Array(target.utf8), header: header)
    }

    /// Returns the accepted ones of some values of `Host`.
    private func accepted(_ hosts: [String], _ rules: AccessRules) -> [String] {
        hosts.filter { rules.foreignOrigin(request([("Host", $0)])) == nil }
    }

    @Test func `the names of an inspector depend on its address and port`() throws {
        let local = ["localhost", "127.0.0.1", "[::1]"]
        let numeric = local + ["10.0.0.1", "127.0.0.2", "[fd00::2]", "0.0.0.0", "[::]"]
        let all = numeric + ["example.org", ""]
        let addresses: [(address: String, names: [String])] = [
            ("127.0.0.1", local), ("LOCALHOST", local), ("::1", local),
            ("127.0.0.2", local + ["127.0.0.2"]), ("10.0.0.1", ["10.0.0.1"]),
            ("fd00::2", ["[fd00::2]"]), ("0.0.0.0", numeric), ("::", numeric),
        ]
        for (address, names) in addresses {
            let rules = try rules(address)
            #expect(accepted(all, rules) == [], "\(address)")
            for port in ["3999", "4001", "400", "40000", "", "80"] {
                #expect(accepted(all.map { "\($0):\(port)" }, rules) == [], "\(address)")
            }
            let found = accepted(all.map { "\($0):4000" }, rules)
            #expect(found == names.map { "\($0):4000" }, "\(address)")
            // Browsers omit the port of HTTP.
            let usual = try self.rules(address, 80)
            #expect(accepted(all, usual) == names, "\(address)")
            #expect(accepted(all.map { "\($0):80" }, usual) == names.map { "\($0):80" })
            #expect(accepted(all.map { "\($0):4000" }, usual) == [], "\(address)")
        }
    }

    @Test func `one Host is required, and each Origin has it`() throws {
        let rules = try rules("127.0.0.1")
        let host = (name: "Host", value: "LocalHost:4000")
        let foreign = "the Host of the request is not that of the inspector"
        let otherSite = "the request comes from a page of another site"
        let headers: [(fields: [(name: String, value: String)], message: String?)] = [
            ([], foreign), ([host], nil), ([host, host], foreign),
            ([host, ("Origin", "http://localhost:4000")], nil),
            ([host, ("Origin", "HTTP://LOCALHOST:4000")], nil),
            ([host, ("Origin", "http://127.0.0.1:4000")], otherSite),
            ([host, ("Origin", "http://localhost")], otherSite),
            (
                [host, ("Origin", "http://localhost:4000"), ("Origin", "http://a")], otherSite
            ),
            ([("Host", "a"), ("Origin", "http://a")], foreign),
        ]
        for (fields, message) in headers {
            let error = rules.foreignOrigin(request(fields))
            #expect(error?.message == message, "\(fields)")
            #expect((error?.status ?? 403) == 403)
        }
        #expect(
            rules.foreignOrigin(request([]))?.data == [
                "error": [
                    "message": .string(foreign),
                    "hint": "open the URL that the inspector printed when it started",
                ]
            ])
        let site = rules.foreignOrigin(request([host, ("Origin", "null")]))
        #expect(
            site?.data == [
                "error": [
                    "message": .string(otherSite),
                    "hint": "pages of other sites cannot use the inspector",
                ]
            ])
    }

    @Test func `the token is in the header Authorization, or else in a cookie of the port`() throws
    {
        let rules = try rules("127.0.0.1")
        let text = token.text
        let right = (name: "Authorization", value: "bEARER  \(text) ")
        let wrong = (name: "Authorization", value: "Bearer x")
        let cookie = (name: "Cookie", value: "a=1; sheaf-4000=\(text)")
        let old = (name: "Cookie", value: "sheaf-4000=x")
        let (missing, isWrong) = ("the request has no token", "the token of the request is wrong")
        let headers: [(fields: [(name: String, value: String)], message: String?)] = [
            ([], missing), ([right], nil), ([wrong], isWrong), ([right, right], nil),
            ([right, wrong], isWrong), ([wrong, right], isWrong), ([wrong, cookie], isWrong),
            ([right, old], nil), ([cookie], nil), ([old, cookie], nil), ([cookie, old], nil),
            ([old], isWrong), ([("Cookie", "sheaf-4001=\(text)")], missing),
            ([("Authorization", "")], isWrong), ([("Authorization", text)], isWrong),
            ([("Authorization", "Basic \(text)")], isWrong),
            ([("Authorization", "Bearer \(text) \(text)")], isWrong),
            ([("Authorization", "Bearer")], isWrong),
        ]
        for (fields, message) in headers {
            let error = rules.missingToken(request(fields))
            #expect(error?.message == message, "\(fields)")
            #expect((error?.status ?? 401) == 401)
        }
        let hints: [(fields: [(name: String, value: String)], hint: String)] = [
            (
                [],
                "open the URL that the inspector printed when it started, or send the header "
                    + "Authorization: Bearer TOKEN"
            ),
            (
                [wrong],
                "each start of the inspector prints a URL with another token; open that one"
            ),
        ]
        for (fields, hint) in hints {
            guard case .object(let error)? = rules.missingToken(request(fields))?.data["error"]
            else {
                Issue.record("The request is not refused.")
                continue
            }
            #expect(error["hint"] == .string(hint))
        }
    }

    @Test func `the token in the URL of the page alone sets the cookie`() throws {
        let rules = try rules("127.0.0.1")
        for target in ["/", "/?tokens=1", "/app.js?token=\(token.text)", "/x?token=1", "/%zz"] {
            #expect(rules.entry(request([], target)) == nil, "\(target)")
        }
        for target in ["/?token=", "/?token=x", "/?token=x&token=\(token.text)"] {
            guard case .failure(let error)? = rules.entry(request([], target)) else {
                Issue.record("\(target) is not refused.")
                continue
            }
            #expect(error.status == 401 && error.message == "the token of the request is wrong")
        }
        guard case .success(let response)? = rules.entry(request([], "/?a&token=\(token.text)"))
        else {
            Issue.record("The token is refused.")
            return
        }
        #expect(response.status == 303 && response.contentType == "text/plain; charset=utf-8")
        #expect(response.fields.map(\.name) == ["Location", "Set-Cookie"])
        let cookie = "sheaf-4000=\(token.text); HttpOnly; SameSite=Strict; Path=/"
        #expect(response.fields.map(\.value) == ["/", cookie])
        guard case .bytes(let body) = response.body else {
            Issue.record("The response has no bytes.")
            return
        }
        #expect(body.isEmpty)
    }
}
