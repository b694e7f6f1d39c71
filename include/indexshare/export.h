/* What the shared library shows. Everything is compiled hidden; what belongs to the interface says so. */
#ifndef INDEXSHARE_EXPORT_H_
#define INDEXSHARE_EXPORT_H_

#define INDEXSHARE_API __attribute__((visibility("default")))

/* A member of an exported class that is no part of the interface: it cannot be linked to. */
#define INDEXSHARE_INTERNAL __attribute__((visibility("hidden")))

#endif
