// The files of pipelines/ and topics/ are part of every program, so that an installed one needs none of them. Tests
// compare this list with the folders.

#include "CShippedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct weir_shipped_file files[] = {
    {"pipelines/bids.yaml", (const unsigned char[]){
#embed "../../pipelines/bids.yaml" suffix(, 0)
    }},
    {"pipelines/catalog.yaml", (const unsigned char[]){
#embed "../../pipelines/catalog.yaml" suffix(, 0)
    }},
    {"pipelines/collector.yaml", (const unsigned char[]){
#embed "../../pipelines/collector.yaml" suffix(, 0)
    }},
    {"pipelines/conversion-models/1176027022.yaml", (const unsigned char[]){
#embed "../../pipelines/conversion-models/1176027022.yaml" suffix(, 0)
    }},
    {"pipelines/conversion-models/1434505322.yaml", (const unsigned char[]){
#embed "../../pipelines/conversion-models/1434505322.yaml" suffix(, 0)
    }},
    {"pipelines/conversion-models/525463029.yaml", (const unsigned char[]){
#embed "../../pipelines/conversion-models/525463029.yaml" suffix(, 0)
    }},
    {"pipelines/conversion-updates.yaml", (const unsigned char[]){
#embed "../../pipelines/conversion-updates.yaml" suffix(, 0)
    }},
    {"pipelines/costs.yaml", (const unsigned char[]){
#embed "../../pipelines/costs.yaml" suffix(, 0)
    }},
    {"pipelines/costs/apple-ads.yaml", (const unsigned char[]){
#embed "../../pipelines/costs/apple-ads.yaml" suffix(, 0)
    }},
    {"pipelines/costs/generic.yaml", (const unsigned char[]){
#embed "../../pipelines/costs/generic.yaml" suffix(, 0)
    }},
    {"pipelines/costs/google-ads-api.yaml", (const unsigned char[]){
#embed "../../pipelines/costs/google-ads-api.yaml" suffix(, 0)
    }},
    {"pipelines/costs/google-ads.yaml", (const unsigned char[]){
#embed "../../pipelines/costs/google-ads.yaml" suffix(, 0)
    }},
    {"pipelines/costs/meta.yaml", (const unsigned char[]){
#embed "../../pipelines/costs/meta.yaml" suffix(, 0)
    }},
    {"pipelines/impressions.yaml", (const unsigned char[]){
#embed "../../pipelines/impressions.yaml" suffix(, 0)
    }},
    {"pipelines/kafka.yaml", (const unsigned char[]){
#embed "../../pipelines/kafka.yaml" suffix(, 0)
    }},
    {"pipelines/overlay-clicks.yaml", (const unsigned char[]){
#embed "../../pipelines/overlay-clicks.yaml" suffix(, 0)
    }},
    {"pipelines/partner-postbacks.yaml", (const unsigned char[]){
#embed "../../pipelines/partner-postbacks.yaml" suffix(, 0)
    }},
    {"pipelines/partners/example-network.yaml", (const unsigned char[]){
#embed "../../pipelines/partners/example-network.yaml" suffix(, 0)
    }},
    {"pipelines/postbacks.yaml", (const unsigned char[]){
#embed "../../pipelines/postbacks.yaml" suffix(, 0)
    }},
    {"pipelines/reports/campaigns.yaml", (const unsigned char[]){
#embed "../../pipelines/reports/campaigns.yaml" suffix(, 0)
    }},
    {"pipelines/roots/example-root.pem", (const unsigned char[]){
#embed "../../pipelines/roots/example-root.pem" suffix(, 0)
    }},
    {"pipelines/store-notifications.yaml", (const unsigned char[]){
#embed "../../pipelines/store-notifications.yaml" suffix(, 0)
    }},
    {"pipelines/watch.yaml", (const unsigned char[]){
#embed "../../pipelines/watch.yaml" suffix(, 0)
    }},
    {"topics/bids.dlq.yaml", (const unsigned char[]){
#embed "../../topics/bids.dlq.yaml" suffix(, 0)
    }},
    {"topics/bids.yaml", (const unsigned char[]){
#embed "../../topics/bids.yaml" suffix(, 0)
    }},
    {"topics/conversion-updates.dlq.yaml", (const unsigned char[]){
#embed "../../topics/conversion-updates.dlq.yaml" suffix(, 0)
    }},
    {"topics/conversion-updates.yaml", (const unsigned char[]){
#embed "../../topics/conversion-updates.yaml" suffix(, 0)
    }},
    {"topics/costs.dlq.yaml", (const unsigned char[]){
#embed "../../topics/costs.dlq.yaml" suffix(, 0)
    }},
    {"topics/costs.yaml", (const unsigned char[]){
#embed "../../topics/costs.yaml" suffix(, 0)
    }},
    {"topics/impressions.dlq.yaml", (const unsigned char[]){
#embed "../../topics/impressions.dlq.yaml" suffix(, 0)
    }},
    {"topics/impressions.yaml", (const unsigned char[]){
#embed "../../topics/impressions.yaml" suffix(, 0)
    }},
    {"topics/overlay-clicks.dlq.yaml", (const unsigned char[]){
#embed "../../topics/overlay-clicks.dlq.yaml" suffix(, 0)
    }},
    {"topics/overlay-clicks.yaml", (const unsigned char[]){
#embed "../../topics/overlay-clicks.yaml" suffix(, 0)
    }},
    {"topics/partner-postbacks.yaml", (const unsigned char[]){
#embed "../../topics/partner-postbacks.yaml" suffix(, 0)
    }},
    {"topics/postbacks.dlq.yaml", (const unsigned char[]){
#embed "../../topics/postbacks.dlq.yaml" suffix(, 0)
    }},
    {"topics/postbacks.yaml", (const unsigned char[]){
#embed "../../topics/postbacks.yaml" suffix(, 0)
    }},
    {"topics/store-notifications.dlq.yaml", (const unsigned char[]){
#embed "../../topics/store-notifications.dlq.yaml" suffix(, 0)
    }},
    {"topics/store-notifications.yaml", (const unsigned char[]){
#embed "../../topics/store-notifications.yaml" suffix(, 0)
    }},
};

const struct weir_shipped_file *_Nullable weir_shipped_file(size_t index) {
    return index < sizeof files / sizeof files[0] ? &files[index] : NULL;
}
