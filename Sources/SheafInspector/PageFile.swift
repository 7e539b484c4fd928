/// A file of the page, which is part of the program.
struct PageFile: Sendable {
    let contentType: String
    let contents: [UInt8]

    /// The files by the names in their URLs; each file in `Page/` is here.
    private static let files: [String: [UInt8]] = [
        "activity.js": PackageResources.activity_js,
        "api.js": PackageResources.api_js,
        "app.js": PackageResources.app_js,
        "base.css": PackageResources.base_css,
        "changes.js": PackageResources.changes_js,
        "chart.js": PackageResources.chart_js,
        "collections.js": PackageResources.collections_js,
        "commit.js": PackageResources.commit_js,
        "conflicts.js": PackageResources.conflicts_js,
        "devices.js": PackageResources.devices_js,
        "document.js": PackageResources.document_js,
        "documents.js": PackageResources.documents_js,
        "dom.js": PackageResources.dom_js,
        "editor.js": PackageResources.editor_js,
        "format.js": PackageResources.format_js,
        "graph.js": PackageResources.graph_js,
        "health.js": PackageResources.health_js,
        "icon.svg": PackageResources.icon_svg,
        "index.html": PackageResources.index_html,
        "json.js": PackageResources.json_js,
        "measures.js": PackageResources.measures_js,
        "mesh.js": PackageResources.mesh_js,
        "parts.css": PackageResources.parts_css,
        "parts.js": PackageResources.parts_js,
        "past.js": PackageResources.past_js,
        "path.js": PackageResources.path_js,
        "pictures.css": PackageResources.pictures_css,
        "plan.js": PackageResources.plan_js,
        "presence.js": PackageResources.presence_js,
        "query.js": PackageResources.query_js,
        "results.js": PackageResources.results_js,
        "router.js": PackageResources.router_js,
        "statements.js": PackageResources.statements_js,
        "strip.js": PackageResources.strip_js,
        "table.js": PackageResources.table_js,
        "tabs.js": PackageResources.tabs_js,
        "theme.js": PackageResources.theme_js,
        "time.js": PackageResources.time_js,
        "tree.js": PackageResources.tree_js,
        "warnings.js": PackageResources.warnings_js,
    ]

    private static let contentTypes = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
    ]

    /// Returns the file for a path such as `/app.js`; nil if there is none.
    init?(path: String) {
        let name = path == "/" ? "index.html" : String(path.dropFirst())
        guard path.hasPrefix("/"), let contents = Self.files[name],
            let ending = name.split(separator: ".").last,
            let contentType = Self.contentTypes[String(ending)]
        else { return nil }
        (self.contentType, self.contents) = (contentType, contents)
    }
}
