extension TableWorkload {
    /// A retail catalog: products, prices and stock by location, barcodes, promotions.
    static let catalog = TableWorkload(
        "catalog", "a retail catalog of 20,000 products and 100,000 prices",
        queries: CatalogQueries.lookups + CatalogQueries.listings + CatalogQueries.prices
            + CatalogQueries.stock + CatalogQueries.promotions + CatalogQueries.missing
            + CatalogQueries.reports
    ) { CatalogTables.tables(isQuick: $0) }
}

/// The queries of a retail catalog.
enum CatalogQueries {}
