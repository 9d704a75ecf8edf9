/// What an app sold and paid back.
struct AppSales {
    private(set) var refunds = Int128(0)
    private(set) var sales = Int128(0)

    static func += (left: inout AppSales, right: AppSales) {
        left.refunds += right.refunds
        left.sales += right.sales
    }

    /// Takes refunds, then what of the app was sold.
    init(_ measures: [Int64] = []) {
        refunds = Int128(measures.first ?? 0)
        sales = measures.dropFirst().reduce(0) { $0 + Int128($1) }
    }
}
