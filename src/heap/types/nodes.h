/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes of C++ containers. These declare links as pointers to what all nodes begin with; which
 * nodes they are follows from the container's own arguments:
 *
 *	libstdc++                     its nodes
 *	std::_Rb_tree<K, V, …>        std::_Rb_tree_node<V>
 *	std::_List_base<T, …>         std::_List_node<T>
 *	std::_Hashtable<K, V, …>      std::__detail::_Hash_node<V, true or false>
 *	std::_Fwd_list_base<T, …>     std::_Fwd_list_node<T>
 *
 *	libc++, in std::__1 or another namespace of its kind
 *	__tree<V, …>                  __tree_node<V, void *>
 *	list<T, …>                    __list_node<T, void *>
 *	__hash_table<V, …>            __hash_node<V, void *>
 *	__forward_list_base<T, …>     __forward_list_node<T, void *>
 */
#ifndef HEAP_NODES_H
#define HEAP_NODES_H

#include "symbols/types.h"

/* Returns the nodes of a structure that is entered: a container's, or its own; of any other
 * `around`, those of what it is in. */
uint32_t nodes_inside(struct types *types, uint32_t plain, uint32_t around);

/* Returns whether a type is what all nodes begin with. */
bool nodes_is_base(const struct types *types, uint32_t plain);

/* Returns what a node holds, as the program declares it: of libc++'s maps the pair, not what wraps
 * it. TYPE_VOID: it is no node of a container. */
uint32_t nodes_element(struct types *types, uint32_t plain);

/* Returns the name after "std::__1::", or "std::__ndk1::"; NULL: it is in no such namespace. */
const char *nodes_libcxx_name(const char *name);

#endif
